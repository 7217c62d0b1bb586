#include "tests/cpp/support/fake_streams.h"

namespace mindtorch::test {

void FakeStreams::progress(const std::function<void(const Work&)>& execute) {
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& [key, stream] : streams_) {
      while (stream.allowed > 0) {
        const Work& next = stream.work.front();
        if (next.kind == Work::Kind::kBlock && !next.mark->reached) break;
        const Work work = std::move(stream.work.front());
        stream.work.pop_front();
        --stream.allowed;
        execute(work);
        moved = true;
      }
    }
  }
}

void FakeStreams::force(Key key, size_t count, const std::function<void(const Work&)>& execute) {
  FakeStream* stream = find(key);
  if (stream == nullptr) return;
  for (; count > 0 && !stream->work.empty(); --count) {
    const Work work = std::move(stream->work.front());
    stream->work.pop_front();
    if (stream->allowed > 0) --stream->allowed;
    if (work.kind == Work::Kind::kBlock) force(work.mark, execute);
    execute(work);
  }
}

void FakeStreams::force(const std::shared_ptr<Mark>& mark,
                        const std::function<void(const Work&)>& execute) {
  if (mark == nullptr || mark->reached) return;
  const FakeStream* stream = find(mark->stream);
  if (stream == nullptr) return;
  size_t position = 0;
  for (const Work& work : stream->work) {
    ++position;
    if (work.kind == Work::Kind::kRecord && work.mark == mark) break;
  }
  force(mark->stream, position, execute);
}

}  // namespace mindtorch::test
