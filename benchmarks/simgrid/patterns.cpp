// The patterns of compare.py as a SimGrid S4U program: one actor a rank, one mailbox a pair.
//
//     patterns PLATFORM.xml PATTERN RANKS BYTES ports|rendezvous [--cfg=...]
//
// rendezvous: SimGrid's own way. A message starts when both sides are there, waits for the
// latency, flows, and only then both sides go on.
// ports: our way. A message flows as soon as it is sent; its sender goes on when it has left, its
// receiver a latency later. The transfer itself must then have none (network/latency-factor:0).
//
// Prints, as one line, the simulated time, the messages sent, and the seconds of processor time
// from the creation of the actors to the end of the simulation: the platform is read before.

#include <simgrid/s4u.hpp>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace sg = simgrid::s4u;

// Actors take turns on one thread, so plain variables are safe.
static uint64_t messages = 0;
static int payload       = 0;
static bool ports        = false;
static std::vector<sg::ActorPtr> actors;

// What a rank program sees: the verbs of ddl_teach.Comm that the patterns need.
class Comm {
public:
  // A message on one of its two sides; `latency` is what the receiver has yet to wait.
  struct Request {
    sg::CommPtr message;
    double latency;

    void wait() const
    {
      message->wait();
      const double arrival = message->get_finish_time() + latency;
      if (latency > 0 && arrival > sg::Engine::get_clock())
        sg::this_actor::sleep_until(arrival);
    }
  };

  const int rank;
  const int size;
  Comm(int rank, int size) : rank(rank), size(size) {}

  Request isend(uint64_t bytes, int to)
  {
    ++messages;
    return {way(outgoing_, rank, to).mailbox->put_async(&payload, bytes), 0};
  }
  Request irecv(int source)
  {
    const Way& found = way(incoming_, source, rank);
    return {found.mailbox->get_async<int>(&received_), ports ? found.latency : 0};
  }
  void send(uint64_t bytes, int to) { isend(bytes, to).wait(); }
  void recv(int source) { irecv(source).wait(); }
  void sendrecv(uint64_t bytes, int to, int source)
  {
    const auto sent = isend(bytes, to);
    irecv(source).wait();
    sent.wait();
  }
  static void wait_all(const std::vector<Request>& open)
  {
    for (auto const& one : open)
      one.wait();
  }

private:
  struct Way {
    sg::Mailbox* mailbox = nullptr;
    double latency       = 0;
  };
  using Ways = std::unordered_map<int, Way>;
  Ways outgoing_;
  Ways incoming_;
  int* received_ = nullptr;

  // A mailbox is found by its name once and remembered: names are for people, not for speed.
  const Way& way(Ways& known, int source, int dest)
  {
    auto& found = known[source == rank ? dest : source];
    if (found.mailbox == nullptr) {
      found.mailbox = sg::Mailbox::by_name(std::to_string(source) + ">" + std::to_string(dest));
      if (ports) {
        // With a receiver that is known for ever a message need not wait for its request.
        found.mailbox->set_receiver(actors[dest]);
        std::vector<sg::Link*> links;
        actors[source]->get_host()->route_to(actors[dest]->get_host(), links, &found.latency);
      }
    }
    return found;
  }
};

static void ring(Comm& comm, uint64_t bytes)
{
  const int up   = (comm.rank + 1) % comm.size;
  const int down = (comm.rank + comm.size - 1) % comm.size;
  for (int step = 0; step < 2 * (comm.size - 1); step++)
    comm.sendrecv(bytes / comm.size, up, down);
}

static void recursive_doubling(Comm& comm, uint64_t bytes)
{
  for (int distance = 1; distance < comm.size; distance *= 2)
    comm.sendrecv(bytes, comm.rank ^ distance, comm.rank ^ distance);
}

static void rabenseifner(Comm& comm, uint64_t bytes)
{
  uint64_t part = bytes;
  for (int distance = comm.size / 2; distance > 0; distance /= 2) {
    part /= 2;
    comm.sendrecv(part, comm.rank ^ distance, comm.rank ^ distance);
  }
  for (int distance = 1; distance < comm.size; distance *= 2) {
    comm.sendrecv(part, comm.rank ^ distance, comm.rank ^ distance);
    part *= 2;
  }
}

static void linear(Comm& comm, uint64_t bytes)
{
  if (comm.rank != 0) {
    comm.send(bytes, 0);
    comm.recv(0);
    return;
  }
  std::vector<Comm::Request> open;
  for (int other = 1; other < comm.size; other++)
    open.push_back(comm.irecv(other));
  Comm::wait_all(open);
  open.clear();
  for (int other = 1; other < comm.size; other++)
    open.push_back(comm.isend(bytes, other));
  Comm::wait_all(open);
}

static void alltoall(Comm& comm, uint64_t bytes)
{
  for (int step = 1; step < comm.size; step++)
    comm.sendrecv(bytes / comm.size, (comm.rank + step) % comm.size,
                  (comm.rank + comm.size - step) % comm.size);
}

static void alltoall_at_once(Comm& comm, uint64_t bytes)
{
  std::vector<Comm::Request> open;
  for (int step = 1; step < comm.size; step++) {
    open.push_back(comm.irecv((comm.rank + comm.size - step) % comm.size));
    open.push_back(comm.isend(bytes / comm.size, (comm.rank + step) % comm.size));
  }
  Comm::wait_all(open);
}

// Every rank sends its vector half way round.
static void shift(Comm& comm, uint64_t bytes)
{
  const int half = comm.size / 2;
  comm.sendrecv(bytes, (comm.rank + half) % comm.size, (comm.rank + comm.size - half) % comm.size);
}

// A permutation that looks random: both factors are odd, so it is one to one on powers of two.
static void scatter_about(Comm& comm, uint64_t bytes)
{
  const int to = (comm.rank * 37 + 11) % comm.size;
  int source   = 0;
  while ((source * 37 + 11) % comm.size != comm.rank)
    source++;
  comm.sendrecv(bytes, to, source);
}

// Rank r sends (1 + r % 4) times the vector to rank 0 or, from the upper half, to rank 1.
static void two_targets(Comm& comm, uint64_t bytes)
{
  const int half = comm.size / 2;
  std::vector<Comm::Request> open;
  if (comm.rank < 2)
    for (int source = comm.rank * half; source < (comm.rank + 1) * half; source++)
      if (source != comm.rank)
        open.push_back(comm.irecv(source));
  const int target = comm.rank / half;
  if (target != comm.rank)
    open.push_back(comm.isend(bytes * (1 + comm.rank % 4), target));
  Comm::wait_all(open);
}

// Rank r in a ring with all whose numbers differ by a multiple of 8.
static void rings_of_a_grid(Comm& comm, uint64_t bytes)
{
  const int stride  = comm.size > 8 && comm.size % 8 == 0 ? 8 : 1;
  const int members = comm.size / stride;
  const int up      = (comm.rank + stride) % comm.size;
  const int down    = (comm.rank + comm.size - stride) % comm.size;
  for (int step = 0; step < 2 * (members - 1); step++)
    comm.sendrecv(bytes / members, up, down);
}

static const std::map<std::string, void (*)(Comm&, uint64_t)> patterns = {
    {"ring", ring},
    {"recursive_doubling", recursive_doubling},
    {"rabenseifner", rabenseifner},
    {"linear", linear},
    {"alltoall", alltoall},
    {"alltoall_at_once", alltoall_at_once},
    {"shift", shift},
    {"scatter_about", scatter_about},
    {"two_targets", two_targets},
    {"rings_of_a_grid", rings_of_a_grid},
};

int main(int argc, char** argv)
{
  sg::Engine engine(&argc, argv);
  if (argc != 6 || patterns.count(argv[2]) == 0) {
    std::fprintf(stderr, "usage: patterns PLATFORM.xml PATTERN RANKS BYTES ports|rendezvous\n");
    return 2;
  }
  engine.load_platform(argv[1]);
  const auto program   = patterns.at(argv[2]);
  const int ranks      = std::stoi(argv[3]);
  const uint64_t bytes = std::stoull(argv[4]);
  ports                = std::string(argv[5]) == "ports";

  const std::clock_t begun = std::clock();
  for (int rank = 0; rank < ranks; rank++)
    actors.push_back(
        sg::Actor::create("rank", engine.host_by_name("rank-" + std::to_string(rank)), [=]() {
          Comm comm(rank, ranks);
          program(comm, bytes);
        }));
  engine.run();
  const double seconds = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
  std::printf("%.17g %llu %.9g\n", sg::Engine::get_clock(),
              static_cast<unsigned long long>(messages), seconds);
  return 0;
}
