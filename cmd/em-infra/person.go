package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/operator"
)

// person answers questions at the terminal.
type person struct{ streams }

func isTerminal(in io.Reader) bool {
	file, isFile := in.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

// Confirm implements [operator.Person]: it prints the question and reads one line.
func (p person) Confirm(ctx context.Context, question operator.Question) (bool, error) {
	about := ""
	if question.About != "" {
		about = question.About + "\n"
	}
	fmt.Fprintf(p.out, "\n%s%s", about, question.Text)
	if err := terminal.Flush(p.out); err != nil {
		return false, err
	}
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(p.in).ReadString('\n') // the end of the input means no
		answer <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case line := <-answer:
		return line == question.Yes, nil
	}
}
