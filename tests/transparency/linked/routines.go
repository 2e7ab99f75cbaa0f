// Goroutines on their own stacks, channels, a recovered fault, the collector.
package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"sync"
)

func fault() (recovered bool) {
	defer func() { recovered = recover() != nil }()
	var nothing *int
	*nothing = 1
	return
}

func deep(n int) int {
	var room [64]int
	if n == 0 {
		return room[0]
	}
	return deep(n-1) + 1
}

func main() {
	var group sync.WaitGroup
	numbers := make(chan int, 8)
	for i := 0; i < 100; i++ {
		group.Add(1)
		go func(i int) { defer group.Done(); numbers <- deep(i * 10) }(i)
	}
	go func() { group.Wait(); close(numbers) }()
	sum := 0
	for n := range numbers {
		sum += n
	}
	for i := 0; i < 20; i++ {
		_ = make([]byte, 1<<20)
	}
	runtime.GC()
	out, err := exec.Command("/bin/echo", "child").Output()
	fmt.Println(sum, fault(), string(out), err)
}
