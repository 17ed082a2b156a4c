// Go's network on loopback: an HTTP server and its clients, refused connections, UDP with a deadline, a copy between
// connections. Built by tests/system/test_go_programs.py where there is a Go compiler.
// SPDX-License-Identifier: MIT
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

func serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %d", r.Method, r.URL.Path, len(body))
	}
	server := &http.Server{Handler: http.HandlerFunc(answer)}
	go server.Serve(listener)
	var all sync.WaitGroup
	answers := make([]string, 4)
	for i := range answers {
		all.Add(1)
		go func() {
			defer all.Done()
			url := fmt.Sprintf("http://%s/page%d", listener.Addr(), i)
			response, err := http.Post(url, "text/plain", strings.NewReader(strings.Repeat("x", 10000*i)))
			if err != nil {
				answers[i] = err.Error()
				return
			}
			defer response.Body.Close()
			text, _ := io.ReadAll(response.Body)
			answers[i] = string(text)
		}()
	}
	all.Wait()
	fmt.Println(strings.Join(answers, "\n"))
	server.Close()
}

func main() {
	serve()
	// Nothing listens, and the poller must tell so at once: within the limit of time.
	client := http.Client{Timeout: 20 * time.Millisecond}
	_, err := client.Get("http://127.0.0.1:9/")
	fmt.Println(err)

	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	sender, _ := net.Dial("udp", packets.LocalAddr().String())
	sender.Write([]byte("datagram"))
	buffer := make([]byte, 20)
	n, from, err := packets.ReadFrom(buffer)
	fmt.Println(string(buffer[:n]), from.String() == sender.LocalAddr().String(), err)
	packets.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
	_, _, err = packets.ReadFrom(buffer)
	fmt.Println("timeout", err.(net.Error).Timeout())

	echo, err := net.Listen("tcp", "[::]:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		connection, _ := echo.Accept()
		io.Copy(connection, connection)
		connection.Close()
	}()
	asking, err := net.Dial("tcp", fmt.Sprintf("[::1]:%d", echo.Addr().(*net.TCPAddr).Port))
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		asking.Write(make([]byte, 300000))
		asking.(*net.TCPConn).CloseWrite()
	}()
	copied, err := io.Copy(io.Discard, asking)
	fmt.Println("echoed", copied, err)
}
