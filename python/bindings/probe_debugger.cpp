// Makes _core.probe.Debugger: what a debugger's front end in Python sees of a launch that stands.
#include <triton_runner/num/types.h>
#include <triton_runner/tile/tile.h>

#include "debugger.h"

namespace triton_runner::python {

using probe::Breakpoint;
using probe::Condition;
using probe::Debugger;
using probe::DebugPlace;
using Until = Debugger::Until;

namespace {
constexpr const char* kWhy[] = {"breakpoint", "statement", "step", "moment", "interrupt", "thawed"};
}

// Asks the front end, without the GIL around it; an exception that it raises ends the launch.
bool DebuggerObject::ask(const std::function<nb::object()>& front) {
  nb::gil_scoped_acquire gil;
  try {
    return !front().is(nb::bool_(false));
  } catch (nb::python_error& raised) {
    error.emplace(std::move(raised));
  }
  return false;
}

DebuggerObject::DebuggerObject(nb::object begin, nb::object stop)
    : on_begin(std::move(begin)),
      on_stop(std::move(stop)),
      debugger({[this](const std::string& kernel, const std::string& level) {
                  return ask([&] { return on_begin(level, kernel); });
                },
                [this](uint32_t place, exec::Stopped& at, Debugger::Why why, const std::vector<int>& hits) {
                  stopped = &at;
                  const bool goes_on =
                      ask([&] { return on_stop(place, kWhy[static_cast<size_t>(why)], hits); });
                  stopped = nullptr;
                  return goes_on;
                }}) {}

exec::Stopper* DebuggerObject::begin(const exec::Kernel& kernel, std::span<const exec::Allocation> memory) {
  debugger.hold(memory);
  unwrap(debugger.begin(tile::module_of(kernel), kernel.name(), kernel.level()));
  return &debugger;
}

void DebuggerObject::end() {
  if (!error) return;
  nb::python_error raised = std::move(*error);
  error.reset();
  throw raised;
}

namespace {

exec::StoppedLanes* lanes(DebuggerObject& self) { return dynamic_cast<exec::StoppedLanes*>(self.stopped); }

exec::Stopped& standing(DebuggerObject& self) {
  if (!self.stopped) fail("the launch runs: values can be seen while it stands");
  return *self.stopped;
}

// A method of the Debugger, or of what stands, for the object that Python has.
template <class T>
T& part(DebuggerObject& d) {
  if constexpr (std::is_same_v<T, Debugger>)
    return d.debugger;
  else
    return standing(d);
}
template <class T, class R, class... A>
auto forward(R (T::*method)(A...)) {
  return [method](DebuggerObject& d, A... a) -> std::remove_cvref_t<R> {
    return (part<T>(d).*method)(std::forward<A>(a)...);
  };
}
template <class T, class R>
auto forward(R (T::*method)() const) {
  return [method](DebuggerObject& d) -> std::remove_cvref_t<R> { return (part<T>(d).*method)(); };
}

probe::Edit made_edit(int64_t moment, probe::Edit::Kind kind, size_t what, const nb::bytes& bytes) {
  const auto* data = reinterpret_cast<const std::byte*>(bytes.c_str());
  return {moment, kind, what, {data, data + bytes.size()}};
}

void init_parts(nb::module_& m) {
  nb::class_<DebugPlace>(m, "DebugPlace", "Where a launch can stop: before an op or an instruction.")
      .def_ro("name", &DebugPlace::name)
      .def_ro("text", &DebugPlace::text)
      .def_ro("at", &DebugPlace::at, "its line in the module's text")
      .def_ro("function", &DebugPlace::function)
      .def_ro("block", &DebugPlace::block, "places of one block of the module have one number")
      .def_prop_ro("is_statement", [](const DebugPlace& p) { return p.marker != nullptr; })
      .def_prop_ro(
          "lines",
          [](const DebugPlace& p) {
            nb::list out;
            for (const probe::Line& l : p.lines) out.append(nb::make_tuple(l.file, l.line, l.column));
            return out;
          },
          "(file, line, column) in the program it was compiled from, callees first");
  nb::enum_<Condition::Of>(m, "Of", "Which number of a value a condition is about.")
      .value("ELEMENT", Condition::kElement)
      .value("MAX", Condition::kMax)
      .value("MIN", Condition::kMin)
      .value("ANY", Condition::kAny)
      .value("ALL", Condition::kAll)
      .value("NAN", Condition::kNan)
      .value("INF", Condition::kInf);
  nb::enum_<Condition::Compare>(m, "Compare", "How a condition compares it.")
      .value("LESS", Condition::kLess)
      .value("LESS_EQUAL", Condition::kLessEqual)
      .value("GREATER", Condition::kGreater)
      .value("GREATER_EQUAL", Condition::kGreaterEqual)
      .value("EQUAL", Condition::kEqual)
      .value("UNEQUAL", Condition::kUnequal);
  m.def(
      "loops_of_code",
      [](std::string text, const std::string& kernel, const std::string& level) {
        std::vector<std::tuple<int, std::vector<int>, std::vector<int>, bool>> out;
        for (probe::TextLoop& loop : unwrap(probe::loops_of_code(std::move(text), kernel, level)))
          out.emplace_back(loop.head, std::move(loop.body), std::move(loop.before), loop.is_unrolled);
        return out;
      },
      "text"_a, "kernel"_a, "level"_a,
      "(head, body, before, is_unrolled), in lines, of the loops of PTX or of a listing of machine code, the "
      "outermost first. before: where a loop may be entered from.");
  nb::class_<Condition>(m, "Condition", "acc.max() > 1e4, acc[3, 5] == 0: decided in the core.")
      .def(nb::init<std::string, Condition::Of, std::vector<int64_t>, Condition::Compare, double>(),
           "value"_a, "of"_a, "index"_a, "compare"_a, "number"_a);
  nb::enum_<probe::WatchedMemory::Space>(m, "Space",
                                         "Where memory is that is watched; BARRIER: an mbarrier's phase.")
      .value("GLOBAL", probe::WatchedMemory::kGlobal)
      .value("SHARED", probe::WatchedMemory::kShared)
      .value("BARRIER", probe::WatchedMemory::kBarrier);
  nb::class_<probe::WatchedMemory>(m, "WatchedMemory",
                                   "Bytes of global memory, or of a block's shared memory.")
      .def(nb::init<probe::WatchedMemory::Space, uint64_t, uint64_t>(), "space"_a, "at"_a, "bytes"_a);
  nb::enum_<probe::Edit::Kind>(m, "EditKind", "What somebody changes while a launch stands.")
      .value("WRITE", probe::Edit::kWrite)
      .value("WRITE_SHARED", probe::Edit::kWriteShared)
      .value("FREEZE", probe::Edit::kFreeze)
      .value("THAW", probe::Edit::kThaw);
  nb::class_<Breakpoint>(m, "Breakpoint", "Where and when a launch stops; no places: everywhere.")
      .def(nb::init<int, std::vector<uint32_t>, std::array<int64_t, 3>, int64_t, int64_t,
                    std::vector<Condition>, std::string, std::vector<int64_t>, int64_t, int64_t, bool,
                    probe::WatchedMemory>(),
           "number"_a, "places"_a, "program"_a = std::array<int64_t, 3>{-1, -1, -1}, "task"_a = -1,
           "iteration"_a = -1, "conditions"_a = std::vector<Condition>{}, "watch"_a = "",
           "element"_a = std::vector<int64_t>{}, "skip"_a = 0, "hits"_a = 0, "first"_a = false,
           "memory"_a = probe::WatchedMemory{});
  nb::enum_<Until>(m, "Until", "Where a step ends.")
      .value("NOTHING", Until::kNothing)
      .value("OP", Until::kOp)
      .value("LINE", Until::kLine);
}

void init_commands(nb::class_<DebuggerObject>& c) {
  c.def_prop_ro("places", forward(&Debugger::places))
      .def("set_lines", forward(&Debugger::set_lines), "lines"_a,
           "Of each place the numbers of the lines that it stands on, callers first.")
      .def("set_loop_names", forward(&Debugger::set_loop_names), "names"_a,
           "(file, line, name): what loops count by whose text has no name for it.")
      .def(
          "set_loops",
          [](DebuggerObject& d,
             std::vector<std::tuple<uint32_t, std::vector<uint32_t>, std::vector<uint32_t>>> loops) {
            std::vector<Debugger::Loop> out;
            for (auto& [head, body, before] : loops)
              out.push_back({head, std::move(body), std::move(before)});
            d.debugger.set_loops(std::move(out));
          },
          "loops"_a, "(head, body, before), in places: loops of code whose iterations are counted.")
      .def("set_breakpoints", forward(&Debugger::set_breakpoints), "breakpoints"_a,
           "All of them; those that were there keep their counts.")
      .def(
          "hits", [](const DebuggerObject& d, int number) { return d.debugger.hits(number); }, "number"_a)
      .def("focus", forward(&Debugger::focus), "program"_a, "task"_a = -1,
           "Stops are made in these programs, and in this task, only; -1: any.")
      .def("go", forward(&Debugger::go))
      .def("step", forward(&Debugger::step), "until"_a, "depth"_a = 1 << 20, "line"_a = -1)
      .def(
          "set_sparse", forward(&Debugger::set_sparse), "on"_a,
          "Set when a launch begins: it stops at places of breakpoints alone, and only what their conditions "
          "name can be seen there; the code between is what other launches run.")
      .def(
          "set_edits",
          [](DebuggerObject& d,
             const std::vector<std::tuple<int64_t, probe::Edit::Kind, size_t, nb::bytes>>& edits) {
            std::vector<probe::Edit> out;
            for (const auto& [moment, kind, what, bytes] : edits)
              out.push_back(made_edit(moment, kind, what, bytes));
            d.debugger.set_edits(std::move(out));
          },
          "edits"_a,
          "(moment, kind, number of the value, offset or task, bytes): done when a launch comes there again.")
      .def(
          "edit",
          [](DebuggerObject& d, probe::Edit::Kind kind, size_t what, nb::bytes bytes) {
            return Debugger::edit(standing(d), made_edit(0, kind, what, bytes));
          },
          "kind"_a, "what"_a, "bytes"_a, "Does one now. False: it cannot be.");
}

// Going back, and what runs a launch again.
void init_again(nb::class_<DebuggerObject>& c) {
  c.def_prop_ro("visit", forward(&Debugger::visit),
                "how many times the program and task had come to this place, which has a breakpoint")
      .def("go_to_visit", forward(&Debugger::go_to_visit), "place"_a, "program"_a, "task"_a, "visit"_a)
      .def("go_to", forward(&Debugger::go_to), "moment"_a)
      .def("search", forward(&Debugger::search), "what"_a, "depth"_a, "moment"_a, "further"_a = false,
           "Goes on to that moment, and notes the last one before it at which an op or a line of the program "
           "began, or a breakpoint was hit. further: of the task that the search before was of.")
      .def_prop_ro("noted", forward(&Debugger::noted), "the moment, or -1: none")
      .def_prop_ro(
          "unsure", forward(&Debugger::unsure),
          "the first moment of which a search that began late does not know whether it is one, or -1")
      .def_prop_ro("late", forward(&Debugger::late),
                   "the moment that this run began with, where it is not its first, or None")
      .def("begin_launch",
           [](DebuggerObject& d) {
             d.debugger.begin_launch();
             d.repeats = false;
           })
      .def("end_launch", forward(&Debugger::end_launch),
           "What a launch wrote is kept between the two, by the core.")
      .def(
          "original",
          [](const DebuggerObject& d, uint64_t address, size_t bytes) {
            nb::bytearray out(static_cast<const void*>(nullptr), bytes);
            d.debugger.read_first(address, {static_cast<std::byte*>(out.data()), bytes});
            return out;
          },
          "address"_a, "bytes"_a, "What memory was before the launch.")
      .def(
          "put_back",
          [](DebuggerObject& d, int64_t moment) {
            d.debugger.put_back(moment);
            d.repeats = true;
          },
          "moment"_a,
          "Before the launch is run again: memory is as it was where that moment is still to come (-1: as "
          "late as it can begin), and there the next run begins.")
      .def("keep_every", forward(&Debugger::keep_every), "seconds"_a,
           "How often what a program is gets kept, for go_back(); 0, for tests: at each place.")
      .def("go_back", forward(&Debugger::go_back), "moment"_a,
           "While it stands: it goes on from the last moment not after this one that was kept. False: there "
           "is none.")
      .def_prop_ro("moment", forward(&Debugger::moment), "how many places the launch has come to")
      .def("interrupt", forward(&Debugger::interrupt));
}

void init_state(nb::class_<DebuggerObject>& c) {
  c.def_prop_ro("program", forward(&exec::Stopped::program))
      .def_prop_ro("task", forward(&exec::Stopped::task))
      .def_prop_ro(
          "iterations",
          [](DebuggerObject& d) {
            standing(d);
            return d.debugger.iterations();
          },
          "of the loops around it, outermost first")
      .def_prop_ro(
          "calls",
          [](DebuggerObject& d) {
            std::vector<uint32_t> out;
            for (const void* op : standing(d).calls()) out.push_back(d.debugger.place_of(op));
            return out;
          },
          "the places of the calls that it is in, outermost first")
      .def(
          "values",
          [](DebuggerObject& d) {
            nb::list out;
            const std::span<const void* const> values = standing(d).values();
            for (size_t i = 0; i < values.size(); ++i) {
              probe::Site site = d.debugger.site_of(values[i]);
              if (lanes(d))  // registers have no type but that of what they hold
                d.stopped->look(i, [&](const exec::Elements& e) {
                  site.type = e.type;
                  site.shape.assign(e.shape.begin(), e.shape.end());
                });
              out.append(std::move(site));
            }
            return out;
          },
          "The Site of each value in sight, the nearest definition first.")
      .def(
          "find",
          [](DebuggerObject& d, const std::string& name) { return d.debugger.find(standing(d), name); },
          "name"_a, "The number of the nearest value with that name, or None.")
      .def(
          "mask_of", [](DebuggerObject& d, size_t value) { return d.debugger.mask_of(standing(d), value); },
          "value"_a, "The number of the mask that a value was loaded under, where that is in sight, or None.")
      .def(
          "read",
          [](DebuggerObject& d, size_t value) -> nb::object {
            if (value >= standing(d).values().size()) throw nb::index_error();
            nb::object out = nb::none();
            standing(d).look(value, [&](const exec::Elements& e) {
              size_t bytes = num::size_of(e.type);
              for (int64_t extent : e.shape) bytes *= static_cast<size_t>(extent);
              nb::object mask = nb::none();
              if (!e.mask.empty()) mask = nb::bytes(e.mask.data(), e.mask.size());
              out = nb::make_tuple(std::string(num::type_name(e.type)),
                                   std::vector<int64_t>(e.shape.begin(), e.shape.end()),
                                   nb::bytes(e.data, bytes), mask);
            });
            return out;
          },
          "value"_a, "(type, shape, bytes, mask or None) of a value, or None: it is not computed yet.");
}

// None on the tile engine.
void init_lanes(nb::class_<DebuggerObject>& c) {
  c.def_prop_ro(
       "threads",
       [](DebuggerObject& d) -> nb::object {
         const exec::StoppedLanes* at = lanes(d);
         return at ? nb::object(nb::make_tuple(at->block(), at->first(), at->count())) : nb::none();
       },
       "(block in the cluster, first thread, how many) of those that stand here")
      .def_prop_ro(
          "tensor_memory",
          [](DebuggerObject& d) -> nb::object {
            const exec::StoppedLanes* at = lanes(d);
            if (!at || at->tensor_memory().empty()) return nb::none();
            const std::span<const uint32_t> words = at->tensor_memory();
            return nb::bytes(words.data(), words.size_bytes());
          },
          "128 words of 32 bits a column, or None: the block has allocated none")
      .def_prop_ro(
          "tensor_columns",
          [](DebuggerObject& d) {
            const exec::StoppedLanes* at = lanes(d);
            return at ? at->tensor_columns() : std::vector<std::pair<uint32_t, uint32_t>>{};
          },
          "[first, last) of those that are allocated")
      .def_prop_ro("block_threads", [](DebuggerObject& d) { return lanes(d) ? lanes(d)->threads() : 0; })
      .def_prop_ro("shared_bytes", [](DebuggerObject& d) -> std::optional<uint64_t> {
        const exec::StoppedLanes* at = lanes(d);
        return at ? std::optional(at->shared_bytes()) : std::nullopt;
      });
}

void init_machine(nb::class_<DebuggerObject>& c) {
  c.def(
       "shared",
       [](DebuggerObject& d, uint64_t at, uint64_t bytes) -> nb::object {
         const std::byte* data = standing(d).shared(at, bytes);
         return data ? nb::object(nb::bytes(data, bytes)) : nb::none();
       },
       "at"_a, "bytes"_a, "Bytes of the block's shared memory, or None: it has not so many.")
      .def_prop_ro("paths", forward(&exec::Stopped::paths), "what each task or path of the program does")
      .def_prop_ro(
          "barriers",
          [](DebuggerObject& d) {
            nb::list out;
            for (const exec::StoppedBarrier& b : standing(d).barriers())
              out.append(nb::make_tuple(b.block, b.at, b.text, b.waiting));
            return out;
          },
          "(block, address in shared memory, what its phase lacks, who waits) of each mbarrier")
      .def_prop_ro("copies", forward(&exec::Stopped::copies),
                   "asynchronous operations under way, oldest first")
      .def_prop_ro(
          "buffers",
          [](DebuggerObject& d) {
            nb::list out;
            for (const exec::StoppedBuffer& b : standing(d).buffers())
              out.append(nb::make_tuple(b.value, b.name, b.in_tensor_memory, b.at, b.bytes));
            return out;
          },
          "(number of the value or None, name of the variable, whether in tensor memory, address, bytes)")
      .def_prop_ro("descriptors", forward(&exec::Stopped::descriptors), "(name, text) of tensor descriptors");
}

}  // namespace

void init_debugger(nb::module_& m) {
  init_parts(m);
  nb::class_<DebuggerObject> c(
      m, "Debugger",
      "Stops the launches under Options.debugger: begin(level, kernel) is called before each, stop(place, "
      "breakpoints that are hit) where it stands; False ends the launch.");
  c.def(nb::init<nb::object, nb::object>(), "begin"_a, "stop"_a)
      .def(
          "close",
          [](DebuggerObject& d) {
            d.on_begin = nb::none();
            d.on_stop = nb::none();
          },
          "Lets go of the front end.");
  init_commands(c);
  init_again(c);
  init_state(c);
  init_lanes(c);
  init_machine(c);
  init_variables(c);
}

}  // namespace triton_runner::python
