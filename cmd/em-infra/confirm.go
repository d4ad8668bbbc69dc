package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"golang.org/x/term"

	"github.com/em-infra/em-infra/internal/terminal"
)

// checkConsent refuses early where consent is needed and nobody can be asked for it.
func (s *session) checkConsent() error {
	if s.consent == "" || isTerminal(s.in) {
		return nil
	}
	return fmt.Errorf("nobody is here to be asked: look at `em-infra preview %s`, then add --yes to %s", s.place, s.consent)
}

func isTerminal(in io.Reader) bool {
	file, isFile := in.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

// confirm shows what would be deleted and asks, unless the answer came with the command.
func (s *session) confirm(ctx context.Context) error {
	if s.consent == "" {
		s.report(s.promises())
		return nil
	}
	seen, err := s.previewed(ctx, func(run engineRun) error {
		_, err := s.stack.PreviewDestroy(ctx, optdestroy.ProgressStreams(run.out), optdestroy.ErrorProgressStreams(run.err), optdestroy.EventStreams(run.events))
		return err
	})
	if err != nil {
		return err
	}
	if err := s.assess(seen).WriteText(s.out); err != nil {
		return err
	}
	return s.ask(ctx)
}

// ask takes the stack's name for a yes and everything else for a no.
func (s *session) ask(ctx context.Context) error {
	name, err := s.answer(ctx, fmt.Sprintf("\nType the name of the stack, %s, to %s: ", s.workspace.Stack, s.consent))
	switch {
	case err != nil:
		return err
	case name != s.workspace.Stack:
		return refused(errors.New("not confirmed; " + s.untouched()))
	}
	return nil
}

// answer is the line that somebody types after a question.
func (s *session) answer(ctx context.Context, question string) (string, error) {
	fmt.Fprint(s.out, question)
	if err := terminal.Flush(s.out); err != nil {
		return "", err
	}
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(s.in).ReadString('\n') // an end without an answer is a no
		answer <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		return "", refused(context.Cause(ctx))
	case line := <-answer:
		return line, nil
	}
}

// untouched says how much is as it was.
func (s *session) untouched() string {
	if s.mended {
		return "nothing was touched but the machines that were started"
	}
	return "nothing was touched"
}
