%% The Savina suite's micro benchmarks and Fibonacci in Erlang: a process an actor. The same messages, sizes and checks
%% as apps/savina, for bench/actors. Not part of Rubato.
%% SPDX-License-Identifier: MIT
-module(savina).
-export([main/1, angle/0]).

%% Actors that have not ended yet: an iteration ends when none is left. `options` are those of spawn_opt.
-record(living, {count, waiting, options}).

actor(#living{count = Count, waiting = Waiting, options = Options}, Body) ->
    atomics:add(Count, 1, 1),
    spawn_opt(fun() ->
                      Body(),
                      case atomics:sub_get(Count, 1, 1) of
                          0 -> Waiting ! ended;
                          _ -> ok
                      end
              end, Options).

%% The iteration's own process counts as one, so that the count is not 0 before all have been spawned.
living(Options) ->
    Count = atomics:new(1, []),
    atomics:add(Count, 1, 1),
    #living{count = Count, waiting = self(), options = Options}.

wait(#living{count = Count}) ->
    case atomics:sub_get(Count, 1, 1) of
        0 -> ok;
        _ -> receive ended -> ok end
    end.

%% What an actor came to, once it has ended.
result(Name) ->
    receive {Name, Value} -> Value end.

results(Name, Count) -> [result(Name) || _ <- lists:seq(1, Count)].

repeat(0, _) -> ok;
repeat(Times, Do) -> Do(), repeat(Times - 1, Do).

%% ---- ping-pong ----

ping_pong(Living, N, _) ->
    Main = self(),
    Ponger = actor(Living, fun() -> Main ! {pings, ponger(0)} end),
    Pinger = actor(Living, fun() -> Main ! {pongs, pinger(Ponger, N, 0)} end),
    Pinger ! again,
    wait(Living),
    result(pings) =:= N andalso result(pongs) =:= N.

ponger(Pings) ->
    receive
        {ping, From} -> From ! pong, ponger(Pings + 1);
        leave -> Pings
    end.

pinger(Ponger, Left, Pongs) ->
    receive
        again -> Ponger ! {ping, self()}, pinger(Ponger, Left - 1, Pongs);
        pong when Left =:= 0 -> Ponger ! leave, Pongs + 1;
        pong -> self() ! again, pinger(Ponger, Left, Pongs + 1)
    end.

streaming(Living, N, Window) ->
    Main = self(),
    Ponger = actor(Living, fun() -> Main ! {pings, answer(N, 0)} end),
    actor(Living, fun() ->
                          Sent = min(N, Window),
                          repeat(Sent, fun() -> Ponger ! {ping, self()} end),
                          Main ! {pongs, stream(Ponger, N, Sent, 0)}
                  end),
    wait(Living),
    result(pings) =:= N andalso result(pongs) =:= N.

answer(N, N) -> N;
answer(N, Pings) ->
    receive {ping, From} -> From ! pong, answer(N, Pings + 1) end.

stream(_, N, _, N) -> N;
stream(Ponger, N, Sent, Pongs) ->
    receive pong -> ok end,
    case Sent < N of
        true -> Ponger ! {ping, self()}, stream(Ponger, N, Sent + 1, Pongs + 1);
        false -> stream(Ponger, N, Sent, Pongs + 1)
    end.

%% ---- counting ----

counting(Living, N, _) ->
    Main = self(),
    Counter = actor(Living, fun() -> counter(0) end),
    Producer = actor(Living, fun() ->
                                     receive 'begin' -> ok end,
                                     repeat(N, fun() -> Counter ! increment end),
                                     Counter ! {retrieve, self()},
                                     Main ! {counted, receive {count, Counted} -> Counted end}
                             end),
    Producer ! 'begin',
    wait(Living),
    result(counted) =:= N.

counter(Counted) ->
    receive
        increment -> counter(Counted + 1);
        {retrieve, From} -> From ! {count, Counted}
    end.

%% ---- fork-join ----

%% Exported and called by its full name: the compiler would compute the sine of a constant, and drop one that is unused.
angle() -> 37.2.

compute(Angle) ->
    Sine = math:sin(Angle),
    Sine * Sine.

throughput(Living, N, Count) ->
    Main = self(),
    Work = fun() ->
                   {Handled, Sum} = worker(?MODULE:angle(), N, 0, 0.0),
                   Main ! {handled, {Handled, Sum > 0}}
           end,
    Workers = [actor(Living, Work) || _ <- lists:seq(1, Count)],
    repeat(N, fun() -> [Worker ! message || Worker <- Workers] end),
    wait(Living),
    lists:all(fun(Result) -> Result =:= {N, true} end, results(handled, Count)).

worker(_, N, N, Sum) -> {N, Sum};
worker(Angle, N, Handled, Sum) ->
    receive message -> worker(Angle, N, Handled + 1, Sum + compute(Angle)) end.

creation(Living, N, _) ->
    Ended = atomics:new(1, []),
    Work = fun() ->
                   receive message -> ok end,
                   case compute(?MODULE:angle()) > 0 of
                       true -> atomics:add(Ended, 1, 1)
                   end
           end,
    repeat(N, fun() -> actor(Living, Work) ! message end),
    wait(Living),
    atomics:get(Ended, 1) =:= N.

%% ---- thread ring ----

thread_ring(Living, N, Rounds) ->
    Main = self(),
    Ring = [actor(Living, fun() -> member(Main, Number, N) end) || Number <- lists:seq(0, N - 1)],
    [First | Others] = Ring,
    lists:foreach(fun({Member, After}) -> Member ! {next, After} end, lists:zip(Ring, Others ++ [First])),
    First ! {ping, Rounds},
    wait(Living),
    lists:sum(results(pings, N)) =:= Rounds + 1 andalso result(last) =:= Rounds rem N.

%% A ping may come before the message that says who is next: it waits in the mailbox.
member(Main, Number, N) ->
    receive {next, After} -> Main ! {pings, pass(Main, Number, N, After, 0)} end.

pass(Main, Number, N, After, Pings) ->
    receive
        {ping, 0} -> Main ! {last, Number}, After ! {leave, N}, pass(Main, Number, N, After, Pings + 1);
        {ping, Left} -> After ! {ping, Left - 1}, pass(Main, Number, N, After, Pings + 1);
        {leave, 0} -> Pings;
        {leave, Left} -> After ! {leave, Left - 1}, Pings
    end.

%% ---- chameneos ----

chameneos(Living, Creatures, Meetings) ->
    Main = self(),
    Place = actor(Living, fun() -> Main ! {met, place(Creatures, Meetings, none, 0)} end),
    lists:foreach(fun(Number) -> actor(Living, fun() -> creature(Place, Number rem 3) end) end,
                  lists:seq(0, Creatures - 1)),
    wait(Living),
    result(met) =:= 2 * Meetings.

place(0, _, _, Sum) -> Sum;
place(Creatures, Left, Waiting, Sum) ->
    receive
        {count, Met} -> place(Creatures - 1, Left, Waiting, Sum + Met);
        {meet, _, From} when Left =:= 0 -> From ! leave, place(Creatures, Left, Waiting, Sum);
        {meet, _, From} when Waiting =:= none -> place(Creatures, Left, From, Sum);
        {meet, _, _} = Meet -> Waiting ! Meet, place(Creatures, Left - 1, none, Sum)
    end.

creature(Place, Color) ->
    Place ! {meet, Color, self()},
    creature(Place, Color, 0).

creature(Place, Color, Met) ->
    receive
        leave -> Place ! {count, Met};
        {meet, Other, From} ->
            Changed = complement(Color, Other),
            From ! {change, Changed},
            meet_again(Place, Changed, Met + 1);
        {change, Changed} -> meet_again(Place, Changed, Met + 1)
    end.

meet_again(Place, Color, Met) ->
    Place ! {meet, Color, self()},
    creature(Place, Color, Met).

complement(Color, Color) -> Color;
complement(A, B) -> 3 - A - B.

%% ---- big ----

big(Living, N, Count) ->
    Main = self(),
    Sink = actor(Living, fun() ->
                                 All = receive {all, Workers} -> Workers end,
                                 repeat(Count, fun() -> receive done -> ok end end),
                                 [Worker ! leave || Worker <- tuple_to_list(All)]
                         end),
    Numbers = lists:seq(0, Count - 1),
    All = list_to_tuple([actor(Living, fun() -> neighbour(Main, Sink, Number, N) end) || Number <- Numbers]),
    [Each ! {all, All} || Each <- [Sink | tuple_to_list(All)]],
    wait(Living),
    {Pings, Wrong} = lists:unzip(results(pings, Count)),
    lists:sum(Pings) =:= N * Count andalso lists:sum(Wrong) =:= 0.

neighbour(Main, Sink, Number, N) ->
    All = receive {all, Workers} -> Workers end,
    Asked = ask(Number, Number, All),
    Main ! {pings, neighbour(Sink, Number, All, N - 1, Asked, 0, 0)}.

%% @returns the generator's state, which says who was asked.
ask(Random, Number, All) ->
    Next = (Random * 1309 + 13849) band 65535,
    element(Next rem tuple_size(All) + 1, All) ! {ping, Number},
    Next.

neighbour(Sink, Number, All, Left, Asked, Pings, Wrong) ->
    receive
        leave -> {Pings, Wrong};
        {ping, From} ->
            element(From + 1, All) ! {pong, Number},
            neighbour(Sink, Number, All, Left, Asked, Pings + 1, Wrong);
        {pong, From} ->
            Bad = case From =:= Asked rem tuple_size(All) of true -> Wrong; false -> Wrong + 1 end,
            case Left of
                0 -> Sink ! done, neighbour(Sink, Number, All, Left, Asked, Pings, Bad);
                _ -> neighbour(Sink, Number, All, Left - 1, ask(Asked, Number, All), Pings, Bad)
            end
    end.

%% ---- Fibonacci ----

fibonacci(Living, N, _) ->
    call(Living, self()) ! {request, N},
    wait(Living),
    result(response) =:= element(1, lists:foldl(fun(_, {A, B}) -> {B, A + B} end, {0, 1}, lists:seq(1, N))).

call(Living, Parent) ->
    actor(Living, fun() ->
                          Value = receive {request, N} -> fibonacci_number(Living, N) end,
                          Parent ! {response, Value}
                  end).

fibonacci_number(_, N) when N =< 2 -> 1;
fibonacci_number(Living, N) ->
    call(Living, self()) ! {request, N - 1},
    call(Living, self()) ! {request, N - 2},
    result(response) + result(response).

%% ---- the command ----

benchmark("pingpong") -> {fun ping_pong/3, 40000, 0};
benchmark("count") -> {fun counting/3, 1000000, 0};
benchmark("fjthrput") -> {fun throughput/3, 10000, 60};
benchmark("fjcreate") -> {fun creation/3, 40000, 0};
benchmark("threadring") -> {fun thread_ring/3, 100, 100000};
benchmark("chameneos") -> {fun chameneos/3, 100, 200000};
benchmark("big") -> {fun big/3, 20000, 120};
benchmark("streaming") -> {fun streaming/3, 25000, 128};
benchmark("fib") -> {fun fibonacci/3, 25, 0};
benchmark(Name) -> refuse("there is no benchmark " ++ Name).

refuse(Sentence) ->
    io:format(standard_error, "savina: ~s~n", [Sentence]),
    halt(2).

number(Text) ->
    case string:to_integer(Text) of
        {Value, ""} when is_integer(Value), Value >= 0 -> Value;
        _ -> refuse(Text ++ " is no number")
    end.

%% An iteration has a process of its own: it begins with an empty heap and mailbox.
iterate(Run, First, Second, Options) ->
    Began = erlang:monotonic_time(nanosecond),
    {Process, Monitor} = spawn_opt(fun() ->
                                           Passed = Run(living(Options), First, Second),
                                           exit({Passed, erlang:monotonic_time(nanosecond)})
                                   end, [monitor | Options]),
    receive
        {'DOWN', Monitor, process, Process, {Passed, Ended}} when is_boolean(Passed) ->
            {Passed, (Ended - Began) / 1.0e9};
        {'DOWN', Monitor, process, Process, Reason} ->
            refuse(io_lib:format("an iteration ended with ~0p", [Reason]))
    end.

peak_mb() ->
    {ok, Status} = file:read_file("/proc/self/status"),
    {match, [Kilobytes]} = re:run(Status, "VmHWM:\\s*([0-9]+)", [{capture, all_but_first, list}]),
    list_to_integer(Kilobytes) / 1024.

%% erl ... -run savina main NAME ITERATIONS THREADS on_heap|off_heap [SIZE]...
main([Name, Iterations, Threads, Queue | Sizes]) when length(Sizes) =< 2 ->
    {Run, First, Second} = benchmark(Name),
    Options = case Queue of
                  "on_heap" -> [{message_queue_data, on_heap}];
                  "off_heap" -> [{message_queue_data, off_heap}];
                  _ -> refuse("message queues are on_heap or off_heap, not " ++ Queue)
              end,
    Given = [number(Size) || Size <- Sizes],
    [A, B] = Given ++ lists:nthtail(length(Given), [First, Second]),
    erlang:system_flag(schedulers_online, min(number(Threads), erlang:system_info(schedulers))),
    {Passed, Seconds} = lists:unzip([iterate(Run, A, B, Options) || _ <- lists:seq(1, number(Iterations))]),
    Check = case lists:all(fun(P) -> P end, Passed) of true -> "passed"; false -> "failed" end,
    {Milliseconds, _} = erlang:statistics(runtime),
    Measured = lists:join(", ", [io_lib:format("~.9f", [S]) || S <- Seconds]),
    io:format("{\"benchmark\": \"~s\", \"iterations\": [~s], \"check\": \"~s\"", [Name, Measured, Check]),
    io:format(", \"cpu_seconds\": ~.3f, \"peak_mb\": ~.1f}~n", [Milliseconds / 1000, peak_mb()]),
    halt(case Check of "passed" -> 0; "failed" -> 1 end);
main(_) ->
    refuse("usage: savina NAME ITERATIONS THREADS on_heap|off_heap [SIZE]...").
