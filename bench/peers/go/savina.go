// The Savina suite's micro benchmarks and Fibonacci in Go: a goroutine an actor, whose mailbox is an unbounded queue of a
// slice and a channel that wakes it. The same messages, sizes and checks as apps/savina, for bench/actors.
// SPDX-License-Identifier: MIT
package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type mailbox[T any] struct {
	lock    sync.Mutex
	waiting []T
	taken   []T
	at      int
	wake    chan struct{}
}

func newMailbox[T any]() *mailbox[T] { return &mailbox[T]{wake: make(chan struct{}, 1)} }

func (m *mailbox[T]) send(message T) {
	m.lock.Lock()
	m.waiting = append(m.waiting, message)
	isFirst := len(m.waiting) == 1
	m.lock.Unlock()
	if isFirst {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
}

// All that waits is taken at once.
func (m *mailbox[T]) receive() T {
	for m.at == len(m.taken) {
		m.lock.Lock()
		m.taken, m.waiting = m.waiting, m.taken[:0]
		m.lock.Unlock()
		m.at = 0
		if len(m.taken) == 0 {
			<-m.wake
		}
	}
	message := m.taken[m.at]
	m.at++
	return message
}

const (
	ping = iota
	pong
	again
	leave
	increment
	retrieve
	begin
	next
	meet
	change
	count
	done
	request
	response
)

type message struct {
	kind  int
	value uint64
	from  *mailbox[message]
}

type box = *mailbox[message]

func actors(running *sync.WaitGroup, body func(self box)) box {
	self := newMailbox[message]()
	running.Add(1)
	go func() {
		defer running.Done()
		body(self)
	}()
	return self
}

func pingPong(n, _ uint64) bool {
	var running sync.WaitGroup
	var pings, pongs uint64
	ponger := actors(&running, func(self box) {
		for m := self.receive(); m.kind != leave; m = self.receive() {
			pings++
			m.from.send(message{kind: pong})
		}
	})
	pinger := actors(&running, func(self box) {
		left := n
		for {
			switch self.receive().kind {
			case again:
				ponger.send(message{kind: ping, from: self})
				left--
			case pong:
				pongs++
				if left == 0 {
					ponger.send(message{kind: leave})
					return
				}
				self.send(message{kind: again})
			}
		}
	})
	pinger.send(message{kind: again})
	running.Wait()
	return pings == n && pongs == n
}

func streaming(n, window uint64) bool {
	var running sync.WaitGroup
	var pings, pongs uint64
	ponger := actors(&running, func(self box) {
		for ; pings < n; pings++ {
			self.receive().from.send(message{kind: pong})
		}
	})
	actors(&running, func(self box) {
		sent := uint64(0)
		for ; sent < n && sent < window; sent++ {
			ponger.send(message{kind: ping, from: self})
		}
		for ; pongs < n; pongs++ {
			self.receive()
			if sent < n {
				sent++
				ponger.send(message{kind: ping, from: self})
			}
		}
	})
	running.Wait()
	return pings == n && pongs == n
}

func counting(n, _ uint64) bool {
	var running sync.WaitGroup
	var result uint64
	counter := actors(&running, func(self box) {
		counted := uint64(0)
		for {
			m := self.receive()
			if m.kind == retrieve {
				m.from.send(message{value: counted})
				return
			}
			counted++
		}
	})
	producer := actors(&running, func(self box) {
		self.receive()
		for i := uint64(0); i < n; i++ {
			counter.send(message{kind: increment})
		}
		counter.send(message{kind: retrieve, from: self})
		result = self.receive().value
	})
	producer.send(message{kind: begin})
	running.Wait()
	return result == n
}

var kept atomic.Uint64

func compute(angle float64) float64 {
	sine := math.Sin(angle)
	return sine * sine
}

func throughput(n, count uint64) bool {
	var running sync.WaitGroup
	handled := make([]uint64, count)
	workers := make([]box, count)
	for i := range workers {
		i := i
		workers[i] = actors(&running, func(self box) {
			sum := 0.0
			for ; handled[i] < n; handled[i]++ {
				self.receive()
				sum += compute(37.2)
			}
			kept.Store(math.Float64bits(sum))
		})
	}
	for i := uint64(0); i < n; i++ {
		for _, worker := range workers {
			worker.send(message{})
		}
	}
	running.Wait()
	for _, h := range handled {
		if h != n {
			return false
		}
	}
	return true
}

func creation(n, _ uint64) bool {
	var running sync.WaitGroup
	var ended atomic.Uint64
	for i := uint64(0); i < n; i++ {
		actors(&running, func(self box) {
			self.receive()
			kept.Store(math.Float64bits(compute(37.2)))
			ended.Add(1)
		}).send(message{})
	}
	running.Wait()
	return ended.Load() == n
}

func threadRing(n, rounds uint64) bool {
	var running sync.WaitGroup
	var pings, last uint64
	ring := make([]box, n)
	for i := range ring {
		number := uint64(i)
		ring[i] = actors(&running, func(self box) {
			var after box
			for {
				m := self.receive()
				switch {
				case m.kind == next:
					after = m.from
				case m.kind == leave:
					if m.value != 0 {
						after.send(message{kind: leave, value: m.value - 1})
					}
					return
				case m.value != 0:
					pings++
					after.send(message{kind: ping, value: m.value - 1})
				default:
					pings++
					last = number
					after.send(message{kind: leave, value: n})
				}
			}
		})
	}
	for i := range ring {
		ring[i].send(message{kind: next, from: ring[(i+1)%len(ring)]})
	}
	ring[0].send(message{kind: ping, value: rounds})
	running.Wait()
	return pings == rounds+1 && last == rounds%n
}

func complement(a, b uint64) uint64 {
	if a == b {
		return a
	}
	return 3 - a - b
}

func chameneos(creatures, meetings uint64) bool {
	var running sync.WaitGroup
	var sum uint64
	place := actors(&running, func(self box) {
		var waiting box
		left := meetings
		for faded := uint64(0); faded < creatures; {
			m := self.receive()
			switch {
			case m.kind == count:
				sum += m.value
				faded++
			case left == 0:
				m.from.send(message{kind: leave})
			case waiting == nil:
				waiting = m.from
			default:
				left--
				waiting.send(message{kind: meet, value: m.value, from: m.from})
				waiting = nil
			}
		}
	})
	for i := uint64(0); i < creatures; i++ {
		color := i % 3
		actors(&running, func(self box) {
			met := uint64(0)
			place.send(message{kind: meet, value: color, from: self})
			for {
				m := self.receive()
				switch m.kind {
				case leave:
					place.send(message{kind: count, value: met})
					return
				case meet:
					color = complement(color, m.value)
					m.from.send(message{kind: change, value: color})
				case change:
					color = m.value
				}
				met++
				place.send(message{kind: meet, value: color, from: self})
			}
		})
	}
	running.Wait()
	return sum == 2*meetings
}

func big(n, workers uint64) bool {
	var running sync.WaitGroup
	var pings, wrong atomic.Uint64
	all := make([]box, workers)
	for i := range all {
		all[i] = newMailbox[message]()
	}
	sink := actors(&running, func(self box) {
		for i := uint64(0); i < workers; i++ {
			self.receive()
		}
		for _, worker := range all {
			worker.send(message{kind: leave})
		}
	})
	const none = math.MaxUint64
	for i := range all {
		number := uint64(i)
		self := all[i]
		running.Add(1)
		go func() {
			defer running.Done()
			random, left, asked := number, n, uint64(none)
			handled, bad := uint64(0), uint64(0)
			for {
				m := self.receive()
				switch m.kind {
				case leave:
					pings.Add(handled)
					wrong.Add(bad)
					return
				case ping:
					handled++
					all[m.value].send(message{kind: pong, value: number})
				case pong:
					if m.value != asked {
						bad++
					}
					if left == 0 {
						sink.send(message{kind: done})
						continue
					}
					left--
					random = (random*1309 + 13849) & 65535
					asked = random % workers
					all[asked].send(message{kind: ping, value: number})
				}
			}
		}()
	}
	for _, worker := range all {
		worker.send(message{kind: pong, value: none})
	}
	running.Wait()
	return pings.Load() == n*workers && wrong.Load() == 0
}

func fibonacciCall(running *sync.WaitGroup, parent box, result *uint64) box {
	return actors(running, func(self box) {
		n := self.receive().value
		value := uint64(1)
		if n > 2 {
			fibonacciCall(running, self, result).send(message{kind: request, value: n - 1})
			fibonacciCall(running, self, result).send(message{kind: request, value: n - 2})
			value = self.receive().value + self.receive().value
		}
		if parent == nil {
			*result = value
		} else {
			parent.send(message{kind: response, value: value})
		}
	})
}

func fibonacci(n, _ uint64) bool {
	var running sync.WaitGroup
	var result uint64
	fibonacciCall(&running, nil, &result).send(message{kind: request, value: n})
	running.Wait()
	a, b := uint64(0), uint64(1)
	for i := uint64(0); i < n; i++ {
		a, b = b, a+b
	}
	return result == a
}

var benchmarks = map[string]struct {
	run           func(first, second uint64) bool
	first, second uint64
}{
	"pingpong":   {pingPong, 40_000, 0},
	"count":      {counting, 1_000_000, 0},
	"fjthrput":   {throughput, 10_000, 60},
	"fjcreate":   {creation, 40_000, 0},
	"threadring": {threadRing, 100, 100_000},
	"chameneos":  {chameneos, 100, 200_000},
	"big":        {big, 20_000, 120},
	"streaming":  {streaming, 25_000, 128},
	"fib":        {fibonacci, 25, 0},
}

func number(index int, otherwise uint64) uint64 {
	if len(os.Args) <= index {
		return otherwise
	}
	value, err := strconv.ParseUint(os.Args[index], 10, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, "savina:", err)
		os.Exit(2)
	}
	return value
}

func peakMB() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmHWM:" {
			kilobytes, _ := strconv.ParseFloat(fields[1], 64)
			return kilobytes / 1024
		}
	}
	return 0
}

// savina NAME ITERATIONS THREADS default SIZE...
func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: savina NAME ITERATIONS THREADS default [SIZE]...")
		os.Exit(2)
	}
	b, isThere := benchmarks[os.Args[1]]
	if !isThere {
		fmt.Fprintln(os.Stderr, "savina: there is no benchmark", os.Args[1])
		os.Exit(2)
	}
	runtime.GOMAXPROCS(int(number(3, 1)))
	check := "passed"
	var seconds []string
	for i := uint64(0); i < number(2, 1); i++ {
		began := time.Now()
		if !b.run(number(5, b.first), number(6, b.second)) {
			check = "failed"
		}
		seconds = append(seconds, fmt.Sprintf("%.9f", time.Since(began).Seconds()))
	}
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	cpu := time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
	fmt.Printf("{\"benchmark\": \"%s\", \"iterations\": [%s], \"check\": \"%s\", \"cpu_seconds\": %.3f, \"peak_mb\": %.1f}\n",
		os.Args[1], strings.Join(seconds, ", "), check, cpu, peakMB())
	if check != "passed" {
		os.Exit(1)
	}
}
