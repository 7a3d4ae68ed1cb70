// Supplies the parts of CPython's API that its stable ABI lacks (wheels for 3.12 and later, tools/wheel.py).
#pragma once
#include <Python.h>

#ifdef Py_LIMITED_API
#define PyBytes_AS_STRING PyBytes_AsString
#define PyBytes_GET_SIZE PyBytes_Size
#define PyFloat_AS_DOUBLE PyFloat_AsDouble
#define PyList_GET_ITEM PyList_GetItem
#define PyList_GET_SIZE PyList_Size
#define PyTuple_GET_ITEM PyTuple_GetItem
#define PyTuple_GET_SIZE PyTuple_Size
#define PyObject_CallOneArg(function, argument) PyObject_CallFunctionObjArgs(function, argument, nullptr)
#define PyObject_CallMethodNoArgs(object, name) PyObject_CallMethodObjArgs(object, name, nullptr)
#endif
