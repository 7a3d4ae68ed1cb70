// Implements Task: materialises lazy forms, takes over dying buffers, and runs the interpreter loop. Traps
// are in trace/trap.cpp.
#include "task.h"

#include <cstring>
#include <new>
#include <type_traits>

#include <triton_runner/num/by_size.h>
#include <triton_runner/num/kernels.h>

#include "trace/location.h"

namespace triton_runner::tile {

BufferPool::~BufferPool() { trim(); }

void BufferPool::trim() {
  for (Buffer*& head : free_)
    while (Buffer* b = head) {
      head = b->next;
      held_ -= sizeof(Buffer) + (uint64_t{1} << b->size_class);
      ::operator delete(b, std::align_val_t{64});
    }
}

void BufferPool::set_limit(uint64_t bytes) {
  limit_ = bytes;
  if (held_ > limit_) trim();
}

Buffer* BufferPool::allocate_new(uint32_t size_class) {
  uint64_t bytes = sizeof(Buffer) + (uint64_t{1} << size_class);
  if (bytes > limit_ || held_ > limit_ - bytes) {
    trim();
    if (bytes > limit_ || held_ > limit_ - bytes) throw OutOfTiles(bytes, held_, limit_);
  }
  void* p = ::operator new(bytes, std::align_val_t{64}, std::nothrow);
  if (!p) throw OutOfTiles(bytes, held_, limit_);
  held_ += bytes;
  return new (p) Buffer{1, size_class, nullptr};
}

namespace {

template <class T>
void fill_affine_row(T* out, int64_t base, int64_t stride, int64_t n) {
  using Wide = std::conditional_t<sizeof(T) < 4, uint32_t, T>;  // narrow ones would be promoted to int
  Wide v = static_cast<Wide>(base), s = static_cast<Wide>(stride);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(v + s * static_cast<Wide>(i));
}

void fill_affine(void* out, const Value& v, const TileType& type) {
  int last = type.rank - 1;
  int64_t inner = type.shape[last], rows = type.n / inner;
  int64_t index[kLazyRank] = {};
  auto* p = static_cast<std::byte*>(out);
  int64_t base = v.base;
  for (int64_t r = 0; r < rows; ++r) {
    num::by_size(type.size, [&](auto zero) {
      fill_affine_row(reinterpret_cast<decltype(zero)*>(p), base, v.stride[last], inner);
    });
    p += inner * type.size;
    for (int d = last - 1; d >= 0; --d) {
      base += v.stride[d];
      if (++index[d] < type.shape[d]) break;
      base -= v.stride[d] * type.shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace

Buffer* Task::written_out(Slot s) {
  const Value& v = values[s];
  const TileType& ty = type(s);
  Buffer* b = worker->pool->allocate(ty.bytes);
  switch (v.form) {
    case Form::kUniform:
      num::fill(b->data(), static_cast<uint64_t>(v.bits), ty.n, ty.size);
      break;
    case Form::kAffine:
      fill_affine(b->data(), v, ty);
      break;
    case Form::kBox: {
      int64_t lo[kLazyRank], hi[kLazyRank];
      for (int d = 0; d < ty.rank; ++d) lo[d] = v.box.lo[d], hi[d] = v.box.hi[d];
      num::mask_box(reinterpret_cast<uint8_t*>(b->data()), ty.shape.data(), lo, hi, ty.rank);
      break;
    }
    case Form::kView:
      num::copy_view(b->data(), v.buffer->data() + v.base * ty.size, ty.shape.data(), v.stride, ty.rank,
                     ty.size);
      break;
    case Form::kNone:
    case Form::kDense:
    case Form::kObject:
      std::memset(b->data(), 0, ty.bytes);
      break;  // never read by verified code
  }
  return b;
}

const void* Task::materialize(Slot s) {
  Buffer* b = written_out(s);
  Value& v = values[s];
  if (v.form == Form::kView) {
    drop(v);
    v.form = Form::kDense;
  }
  v.buffer = b;
  return b->data();
}

std::byte* Task::own_elements(Slot s) {
  Buffer* own = worker->pool->allocate(type(s).bytes);
  {
    const Look look(*this, s);
    std::memcpy(own->data(), look.data(), type(s).bytes);
  }
  adopt(s, own);
  return own->data();
}

Look::Look(Task& t, Slot s) : pool_(t.worker->pool) {
  const Value& v = t.value(s);
  const bool there = v.form == Form::kDense || (v.buffer && v.form != Form::kView);
  if (!there) copy_ = t.written_out(s);
  data_ = (there ? v.buffer : copy_)->data();
}

Look::~Look() {
  if (copy_) pool_->release(copy_);
}

void Task::set_uniform_from(Slot s, const void* element) {
  const TileType& ty = type(s);
  int64_t bits;
  switch (ty.element) {
    case num::Type::kI1:
      bits = *static_cast<const uint8_t*>(element) != 0;
      break;
    case num::Type::kI8:
      bits = *static_cast<const int8_t*>(element);
      break;
    case num::Type::kI16: {
      int16_t x;
      std::memcpy(&x, element, 2);
      bits = x;
      break;
    }
    case num::Type::kI32: {
      int32_t x;
      std::memcpy(&x, element, 4);
      bits = x;
      break;
    }
    case num::Type::kF32: {
      uint32_t x;
      std::memcpy(&x, element, 4);
      bits = x;
      break;
    }
    default:
      bits = static_cast<int64_t>(num::load_bits(element, ty.element));
      break;
  }
  set_uniform(s, bits);
}

void* Task::new_dense(Slot s) {
  Value& v = set_form(s, Form::kDense);
  v.buffer = nullptr;
  v.buffer = worker->pool->allocate(type(s).bytes);
  return v.buffer->data();
}

void* Task::output(const Instr& in, uint32_t r) {
  Slot s = in.result(r);
  const TileType& ty = type(s);
  if (in.kills) {
    for (uint32_t i = 0; i < in.num_operands; ++i) {
      const Slot o = in.operand(i);
      if (!in.kills_operand(i) || o == s || type(o).n != ty.n || type(o).size != ty.size) continue;
      if (std::byte* own = take_over(s, o)) return own;
    }
  }
  return new_dense(s);
}

void* Task::new_object_bytes(Slot s, size_t bytes) {
  Value& v = set_form(s, Form::kObject);
  v.buffer = worker->pool->allocate(bytes);
  return v.buffer->data();
}

void Task::copy(Slot to, Slot from) {
  if (to == from) return;
  const Value& f = values[from];
  if (f.buffer) ++f.buffer->refs;
  if (values[to].buffer) drop(values[to]);
  values[to] = f;
}

void Task::move(Slot to, Slot from) {
  if (to == from) return;
  if (values[to].buffer) drop(values[to]);
  values[to] = values[from];
  values[from].form = Form::kNone;
  values[from].buffer = nullptr;
}

void Task::drop(Value& v) {
  worker->pool->release(v.buffer);
  v.buffer = nullptr;
}

bool Task::should_stop() {
  Launch& l = *worker->launch;
  if (l.stops(program->number) || l.is_interrupted()) return true;
  // Not each time, but where others have left for a reason that may be the clock.
  const bool look = (++polls & 31) == 0 || l.somebody_stopped();
  return look && l.is_late();
}

const Instr* Task::stopped(const Instr& in) {
  Launch& l = *worker->launch;
  if (!l.stops(program->number)) {
    if (l.is_interrupted()) return trap(in, exec::TrapKind::kInterrupted, "the launch was interrupted");
    return trap(in, exec::TrapKind::kTimeout,
                "the kernel ran longer than " + seconds_text(l.options->timeout_seconds) +
                    " (TRITON_RUNNER_TIMEOUT or " + base::option("timeout") + ")");
  }
  return stop(Outcome::kTrapped, &in);
}

bool Task::count_step(const Instr& in) {
  Launch& l = *worker->launch;
  if (l.steps.fetch_add(1, std::memory_order_relaxed) < l.options->max_steps) return true;
  if (l.stops(program->number))
    stop(Outcome::kTrapped, &in);
  else
    trap(in, exec::TrapKind::kTimeout,
         "the launch executed " + std::to_string(l.options->max_steps) +
             " instructions, its limit (max_steps)");
  return false;
}

const Instr* Task::trap_memory(const Instr& in, const std::bad_alloc& error) {
  std::string what = "the system has no more memory";
  if (const auto* e = dynamic_cast<const OutOfTiles*>(&error)) {
    what = "a tile of " + std::to_string(e->bytes) + " bytes, beside " + std::to_string(e->held) +
           " bytes of other tiles";
    what += e->bytes > e->limit || e->held > e->limit - e->bytes
                ? ", is more than the " + std::to_string(e->limit) +
                      " bytes that a worker of this launch may use (max_tile_bytes)"
                : ": the system has no more memory";
  }
  return trap(in, exec::TrapKind::kOutOfMemory, std::move(what));
}

namespace {

template <bool kCounted>
void run(Task& t) {
  const Instr* pc = t.pc;
  t.outcome = Outcome::kRunning;
  auto step = [&] {
    const Instr* in = pc;
    pc = kCounted && !t.count_step(*in) ? nullptr : in->run(t, *in);
    if (in->kills && pc) t.forget_operands(*in, in->kills);
  };
  try {
    step();
    t.progressed = pc != nullptr || t.outcome != Outcome::kBlocked;
    while (pc) step();
  } catch (const std::bad_alloc& error) {
    t.trap_memory(*pc, error);
  }
}

void run(Task& t) {
  if (t.worker->launch->options->max_steps > 0) [[unlikely]]
    run<true>(t);
  else
    run<false>(t);
}

}  // namespace

void run_task(Task& t) {
  if (Checks* checks = t.worker->launch->checks)
    run_checked(t, *checks);
  else
    run(t);
}

bool Task::call(const Instr* entry) {
  const Instr* saved = pc;
  pc = entry;
  if (Checks* checks = worker->launch->checks)
    run_unchecked(*this, *checks);
  else
    run(*this);
  bool ok = outcome == Outcome::kFinished;
  if (ok) pc = saved, outcome = Outcome::kRunning;
  return ok;
}

Task& Program::spawn(const Instr* entry) {
  Task& first = tasks.front();
  Task& t = tasks.emplace_back();
  t.values = first.values;
  t.code = first.code;
  t.program = this;
  t.worker = worker;
  t.pc = entry;
  return t;
}

}  // namespace triton_runner::tile
