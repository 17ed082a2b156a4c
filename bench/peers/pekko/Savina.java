// The Savina suite's micro benchmarks and Fibonacci on Pekko's classic actors: the same messages, sizes and checks as
// apps/savina, for bench/actors. Not part of Rubato.
// SPDX-License-Identifier: MIT
import com.typesafe.config.ConfigFactory;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Props;
import org.apache.pekko.actor.UntypedAbstractActor;

public final class Savina {
  private static ActorSystem system;

  // Messages. Those without content are one object.
  private enum Signal { PING, AGAIN, LEAVE, INCREMENT, RETRIEVE, BEGIN, MESSAGE, DONE }
  private record Pong(int from) {}
  private record From(int member) {}
  private record Ring(long left) {}
  private record Leave(long left) {}
  private record Next(ActorRef ref) {}
  private record Meet(int color, ActorRef from) {}
  private record Met(int color, ActorRef other) {}
  private record Change(int color) {}
  private record Total(long count) {}
  private record Request(long n) {}
  private record Response(long value) {}

  /** Actors that have not stopped yet: an iteration ends when none is left. */
  private static final class Living {
    private final AtomicLong count = new AtomicLong(1);

    void add() { count.incrementAndGet(); }
    void end() {
      if (count.decrementAndGet() != 0) return;
      synchronized (this) {
        notifyAll();
      }
    }
    synchronized void await() throws InterruptedException {
      end();
      while (count.get() != 0) wait();
    }
  }
  private abstract static class Base extends UntypedAbstractActor {
    final Living living;

    Base(Living living) { this.living = living; }
    @Override public void postStop() { living.end(); }
    void stop() { getContext().stop(getSelf()); }
  }
  private static ActorRef spawn(Living living, Supplier<Base> make) {
    living.add();
    return system.actorOf(Props.create(Base.class, make::get));
  }
  private static void send(ActorRef to, Object message) { to.tell(message, ActorRef.noSender()); }

  // ---- ping-pong ----

  private static final class Ponger extends Base {
    private final long[] pings;
    private long left;

    Ponger(Living living, long[] pings, long left) {
      super(living);
      this.pings = pings;
      this.left = left;
    }
    @Override public void onReceive(Object message) {
      if (message == Signal.LEAVE) {
        stop();
        return;
      }
      ++pings[0];
      getSender().tell(Signal.PING, getSelf());
      if (--left == 0) stop();
    }
  }
  private static final class Pinger extends Base {
    private final ActorRef other;
    private final long[] pongs;
    private long left;

    Pinger(Living living, ActorRef other, long rounds, long[] pongs) {
      super(living);
      this.other = other;
      this.pongs = pongs;
      left = rounds;
    }
    @Override public void onReceive(Object message) {
      if (message == Signal.AGAIN) {
        other.tell(Signal.PING, getSelf());
        --left;
        return;
      }
      ++pongs[0];
      if (left != 0) {
        getSelf().tell(Signal.AGAIN, getSelf());
        return;
      }
      other.tell(Signal.LEAVE, getSelf());
      stop();
    }
  }
  private static boolean pingPong(long n, long unused) throws InterruptedException {
    long[] pings = {0}, pongs = {0};
    Living living = new Living();
    ActorRef ponger = spawn(living, () -> new Ponger(living, pings, -1));
    send(spawn(living, () -> new Pinger(living, ponger, n, pongs)), Signal.AGAIN);
    living.await();
    return pings[0] == n && pongs[0] == n;
  }

  private static final class Streamer extends Base {
    private final ActorRef other;
    private final long[] pongs;
    private final long window;
    private long toSend, left;

    Streamer(Living living, ActorRef other, long pings, long window, long[] pongs) {
      super(living);
      this.other = other;
      this.pongs = pongs;
      this.window = window;
      toSend = left = pings;
    }
    @Override public void preStart() {
      for (long i = 0; i < window && toSend != 0; ++i) sendOne();
    }
    @Override public void onReceive(Object message) {
      ++pongs[0];
      if (toSend != 0) sendOne();
      if (--left == 0) stop();
    }
    private void sendOne() {
      --toSend;
      other.tell(Signal.PING, getSelf());
    }
  }
  private static boolean streaming(long n, long window) throws InterruptedException {
    long[] pings = {0}, pongs = {0};
    Living living = new Living();
    ActorRef ponger = spawn(living, () -> new Ponger(living, pings, n));
    spawn(living, () -> new Streamer(living, ponger, n, window, pongs));
    living.await();
    return pings[0] == n && pongs[0] == n;
  }

  // ---- counting ----

  private static final class Counter extends Base {
    private long count = 0;

    Counter(Living living) { super(living); }
    @Override public void onReceive(Object message) {
      if (message == Signal.INCREMENT) {
        ++count;
        return;
      }
      getSender().tell(new Total(count), getSelf());
      stop();
    }
  }
  private static final class Producer extends Base {
    private final ActorRef counter;
    private final long messages;
    private final long[] result;

    Producer(Living living, ActorRef counter, long messages, long[] result) {
      super(living);
      this.counter = counter;
      this.messages = messages;
      this.result = result;
    }
    @Override public void onReceive(Object message) {
      if (message instanceof Total total) {
        result[0] = total.count;
        stop();
        return;
      }
      for (long i = 0; i < messages; ++i) counter.tell(Signal.INCREMENT, getSelf());
      counter.tell(Signal.RETRIEVE, getSelf());
    }
  }
  private static boolean counting(long n, long unused) throws InterruptedException {
    long[] result = {0};
    Living living = new Living();
    ActorRef counter = spawn(living, () -> new Counter(living));
    send(spawn(living, () -> new Producer(living, counter, n, result)), Signal.BEGIN);
    living.await();
    return result[0] == n;
  }

  // ---- fork-join ----

  private static volatile double sink;

  private static void compute() {
    double sine = Math.sin(37.2);
    sink = sine * sine;
  }
  private static final class Worker extends Base {
    private final AtomicLong handled;
    private long left;

    Worker(Living living, AtomicLong handled, long messages) {
      super(living);
      this.handled = handled;
      left = messages;
    }
    @Override public void onReceive(Object message) {
      compute();
      if (--left != 0) return;
      handled.incrementAndGet();
      stop();
    }
  }
  private static boolean throughput(long n, long actors) throws InterruptedException {
    AtomicLong done = new AtomicLong();
    Living living = new Living();
    List<ActorRef> workers = new ArrayList<>();
    for (long i = 0; i < actors; ++i) workers.add(spawn(living, () -> new Worker(living, done, n)));
    for (long i = 0; i < n; ++i) {
      for (ActorRef worker : workers) send(worker, Signal.MESSAGE);
    }
    living.await();
    return done.get() == actors;
  }
  private static boolean creation(long n, long unused) throws InterruptedException {
    AtomicLong done = new AtomicLong();
    Living living = new Living();
    for (long i = 0; i < n; ++i) send(spawn(living, () -> new Worker(living, done, 1)), Signal.MESSAGE);
    living.await();
    return done.get() == n;
  }

  // ---- thread ring ----

  private static final class RingActor extends Base {
    private final long number, members;
    private final long[] pingsAndLast;
    private ActorRef next;

    RingActor(Living living, long number, long members, long[] pingsAndLast) {
      super(living);
      this.number = number;
      this.members = members;
      this.pingsAndLast = pingsAndLast;
    }
    @Override public void onReceive(Object message) {
      if (message instanceof Ring ping) {
        ++pingsAndLast[0];
        if (ping.left != 0) {
          next.tell(new Ring(ping.left - 1), getSelf());
          return;
        }
        pingsAndLast[1] = number;
        next.tell(new Leave(members), getSelf());
      } else if (message instanceof Leave leave) {
        if (leave.left != 0) next.tell(new Leave(leave.left - 1), getSelf());
        stop();
      } else if (message instanceof Next n) {
        next = n.ref;
      }
    }
  }
  private static boolean threadRing(long members, long rounds) throws InterruptedException {
    long[] result = {0, 0};
    Living living = new Living();
    List<ActorRef> ring = new ArrayList<>();
    for (long i = 0; i < members; ++i) {
      long number = i;
      ring.add(spawn(living, () -> new RingActor(living, number, members, result)));
    }
    for (int i = 0; i < members; ++i) send(ring.get(i), new Next(ring.get((i + 1) % (int) members)));
    send(ring.get(0), new Ring(rounds));
    living.await();
    return result[0] == rounds + 1 && result[1] == rounds % members;
  }

  // ---- chameneos ----

  private static final class Place extends Base {
    private final long[] result;
    private final long creatures;
    private long left, sum = 0, faded = 0;
    private ActorRef waiting;

    Place(Living living, long creatures, long meetings, long[] result) {
      super(living);
      this.creatures = creatures;
      this.result = result;
      left = meetings;
    }
    @Override public void onReceive(Object message) {
      if (message instanceof Meet meet) {
        if (left == 0) {
          meet.from.tell(Signal.LEAVE, getSelf());
        } else if (waiting == null) {
          waiting = meet.from;
        } else {
          --left;
          waiting.tell(new Met(meet.color, meet.from), getSelf());
          waiting = null;
        }
      } else if (message instanceof Total meetings) {
        sum += meetings.count;
        if (++faded != creatures) return;
        result[0] = sum;
        stop();
      }
    }
  }
  private static final class Chameneo extends Base {
    private final ActorRef place;
    private int color;
    private long meetings = 0;

    Chameneo(Living living, ActorRef place, int color) {
      super(living);
      this.place = place;
      this.color = color;
    }
    @Override public void preStart() { place.tell(new Meet(color, getSelf()), getSelf()); }
    @Override public void onReceive(Object message) {
      if (message == Signal.LEAVE) {
        place.tell(new Total(meetings), getSelf());
        stop();
        return;
      }
      if (message instanceof Met met) {
        color = color == met.color ? color : 3 - color - met.color;
        met.other.tell(new Change(color), getSelf());
      } else if (message instanceof Change change) {
        color = change.color;
      }
      ++meetings;
      place.tell(new Meet(color, getSelf()), getSelf());
    }
  }
  private static boolean chameneos(long creatures, long meetings) throws InterruptedException {
    long[] result = {0};
    Living living = new Living();
    ActorRef place = spawn(living, () -> new Place(living, creatures, meetings, result));
    for (long i = 0; i < creatures; ++i) {
      int color = (int) (i % 3);
      spawn(living, () -> new Chameneo(living, place, color));
    }
    living.await();
    return result[0] == 2 * meetings;
  }

  // ---- big ----

  private static final class BigSink extends Base {
    private final List<ActorRef> all;
    private long left;

    BigSink(Living living, List<ActorRef> all, long workers) {
      super(living);
      this.all = all;
      left = workers;
    }
    @Override public void onReceive(Object message) {
      if (--left != 0) return;
      for (ActorRef worker : all) worker.tell(Signal.LEAVE, getSelf());
      stop();
    }
  }
  private static final class Member extends Base {
    private final List<ActorRef> all;
    private final ActorRef sinkActor;
    private final AtomicLong pings, wrong;
    private final int number;
    private long random, left, handled = 0, wrongPongs = 0;
    private int asked = -1;

    Member(Living living, List<ActorRef> all, ActorRef sinkActor, int number, long left, AtomicLong pings,
           AtomicLong wrong) {
      super(living);
      this.all = all;
      this.sinkActor = sinkActor;
      this.number = number;
      this.left = left;
      this.pings = pings;
      this.wrong = wrong;
      random = number;
    }
    @Override public void onReceive(Object message) {
      if (message instanceof From ping) {
        ++handled;
        all.get(ping.member).tell(new Pong(number), getSelf());
      } else if (message instanceof Pong pong) {
        if (pong.from != asked) ++wrongPongs;
        if (left == 0) {
          sinkActor.tell(Signal.DONE, getSelf());
          return;
        }
        --left;
        random = (random * 1309 + 13849) & 65535;
        asked = (int) (random % all.size());
        all.get(asked).tell(new From(number), getSelf());
      } else {
        pings.addAndGet(handled);
        wrong.addAndGet(wrongPongs);
        stop();
      }
    }
  }
  private static boolean big(long n, long workers) throws InterruptedException {
    AtomicLong pings = new AtomicLong(), wrong = new AtomicLong();
    Living living = new Living();
    List<ActorRef> all = new ArrayList<>();  // whole before the first message
    ActorRef end = spawn(living, () -> new BigSink(living, all, workers));
    for (int i = 0; i < workers; ++i) {
      int number = i;
      all.add(spawn(living, () -> new Member(living, all, end, number, n, pings, wrong)));
    }
    for (ActorRef member : List.copyOf(all)) send(member, new Pong(-1));
    living.await();
    return pings.get() == n * workers && wrong.get() == 0;
  }

  // ---- Fibonacci ----

  private static final class Call extends Base {
    private final ActorRef parent;
    private final long[] result;
    private long sum = 0;
    private int responses = 0;

    Call(Living living, ActorRef parent, long[] result) {
      super(living);
      this.parent = parent;
      this.result = result;
    }
    @Override public void onReceive(Object message) {
      if (message instanceof Request request) {
        if (request.n <= 2) {
          end(1);
          return;
        }
        ActorRef self = getSelf();
        for (int less = 1; less <= 2; ++less)
          spawn(living, () -> new Call(living, self, result)).tell(new Request(request.n - less), self);
      } else if (message instanceof Response response) {
        sum += response.value;
        if (++responses == 2) end(sum);
      }
    }
    private void end(long value) {
      if (parent != null) {
        parent.tell(new Response(value), getSelf());
      } else {
        result[0] = value;
      }
      stop();
    }
  }
  private static boolean fibonacci(long n, long unused) throws InterruptedException {
    long[] result = {0};
    Living living = new Living();
    send(spawn(living, () -> new Call(living, null, result)), new Request(n));
    living.await();
    long a = 0, b = 1;
    for (long i = 0; i < n; ++i) {
      long sum = a + b;
      a = b;
      b = sum;
    }
    return result[0] == a;
  }

  // ---- The program ----

  private interface Run { boolean run(long first, long second) throws InterruptedException; }
  private record Benchmark(Run run, long first, long second) {}

  private static final Map<String, Benchmark> BENCHMARKS = Map.of(
      "pingpong", new Benchmark(Savina::pingPong, 40_000, 0),
      "count", new Benchmark(Savina::counting, 1_000_000, 0),
      "fjthrput", new Benchmark(Savina::throughput, 10_000, 60),
      "fjcreate", new Benchmark(Savina::creation, 40_000, 0),
      "threadring", new Benchmark(Savina::threadRing, 100, 100_000),
      "chameneos", new Benchmark(Savina::chameneos, 100, 200_000),
      "big", new Benchmark(Savina::big, 20_000, 120),
      "streaming", new Benchmark(Savina::streaming, 25_000, 128),
      "fib", new Benchmark(Savina::fibonacci, 25, 0));

  private static final int WARM_UPS = 10;
  private static final String WARM_SECONDS = "3";

  private static double peakMb() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status")))
      if (line.startsWith("VmHWM:")) return Double.parseDouble(line.replaceAll("[^0-9]", "")) / 1024;
    return 0;
  }

  /**
   * NAME ITERATIONS THREADS THROUGHPUT [SIZE]... With sizes it warms up by iterations only, else for seconds, too;
   * -Dsavina.warm=SECONDS says for how many.
   */
  public static void main(String[] arguments) throws Exception {
    Benchmark benchmark = arguments.length < 4 ? null : BENCHMARKS.get(arguments[0]);
    if (benchmark == null) {
      System.err.println("usage: Savina NAME ITERATIONS THREADS THROUGHPUT [SIZE]..., NAME of " + BENCHMARKS.keySet());
      System.exit(2);
    }
    long first = arguments.length > 4 ? Long.parseLong(arguments[4]) : benchmark.first;
    long second = arguments.length > 5 ? Long.parseLong(arguments[5]) : benchmark.second;
    system = ActorSystem.create("savina", ConfigFactory.parseString(
        "pekko { loglevel = OFF, stdout-loglevel = OFF, log-dead-letters = off, actor.default-dispatcher {"
        + " throughput = " + arguments[3]
        + ", fork-join-executor { parallelism-min = " + arguments[2] + ", parallelism-max = " + arguments[2] + " } } }"));
    boolean isRight = true;
    double warm = Double.parseDouble(System.getProperty("savina.warm", arguments.length > 4 ? "0" : WARM_SECONDS));
    long begin = System.nanoTime();
    for (int i = 0; i < WARM_UPS || (System.nanoTime() - begin) / 1e9 < warm; ++i)
      isRight &= benchmark.run.run(first, second);
    StringBuilder iterations = new StringBuilder();
    for (int i = 0; i < Integer.parseInt(arguments[1]); ++i) {
      long began = System.nanoTime();
      isRight &= benchmark.run.run(first, second);
      iterations.append(i == 0 ? "" : ", ").append(String.format("%.9f", (System.nanoTime() - began) / 1e9));
    }
    var bean = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    System.out.printf(
        "{\"benchmark\": \"%s\", \"iterations\": [%s], \"check\": \"%s\", \"cpu_seconds\": %.3f, \"peak_mb\": %.1f}%n",
        arguments[0], iterations, isRight ? "passed" : "failed", bean.getProcessCpuTime() / 1e9, peakMb());
    system.terminate();
    System.exit(isRight ? 0 : 1);
  }
}
