// Go's runtime on epoll: sleeping goroutines, tickers, timeouts of select, and a pipe with a deadline whose reader
// waits in the poller. Built by tests/system/test_go_programs.py where there is a Go compiler.
// SPDX-License-Identifier: MIT
package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

func main() {
	begin := time.Now()
	var all sync.WaitGroup
	order := make(chan int, 3)
	for _, n := range []int{3, 1, 2} {
		all.Add(1)
		go func(n int) {
			defer all.Done()
			time.Sleep(time.Duration(n) * time.Millisecond)
			order <- n
		}(n)
	}
	all.Wait()
	fmt.Println("woke", <-order, <-order, <-order)
	fmt.Println("slept long enough", time.Since(begin) >= 3*time.Millisecond)

	ticker := time.NewTicker(500 * time.Microsecond)
	for i := 0; i < 3; i++ {
		<-ticker.C
	}
	ticker.Stop()
	select {
	case <-order:
		fmt.Println("nothing was sent")
	case <-time.After(time.Millisecond):
		fmt.Println("timeout")
	}

	reader, writer, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	buffer := make([]byte, 16)
	if err := reader.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		panic(err) // the file is not in the poller
	}
	_, err = reader.Read(buffer)
	fmt.Println("deadline", errors.Is(err, os.ErrDeadlineExceeded))
	_ = reader.SetReadDeadline(time.Time{})
	go func() {
		time.Sleep(time.Millisecond)
		_, _ = writer.Write([]byte("through the poller"))
		_ = writer.Close()
	}()
	text := ""
	for {
		n, err := reader.Read(buffer)
		text += string(buffer[:n])
		if err != nil {
			fmt.Println(text, err)
			return
		}
	}
}
