package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"golang.org/x/term"
)

// confirm asks before anything is changed, unless the answer came with the command. Where nobody can answer, it refuses.
func (s *session) confirm(ctx context.Context, yes bool, deed string) error {
	if yes {
		return nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return refused(fmt.Errorf("nobody is here to be asked: look at `em-infra preview`, then add --yes to %s", deed))
	}
	if _, err := s.stack.Preview(ctx, optpreview.ProgressStreams(s.out), optpreview.ErrorProgressStreams(os.Stderr)); err != nil {
		return s.failed(ctx, "preview", err)
	}
	fmt.Fprintf(s.out, "\nType the name of the stack, %s, to %s: ", s.workspace.Stack, deed)
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return err
	}
	if strings.TrimSpace(answer) != s.workspace.Stack {
		return refused(errors.New("not confirmed; nothing was touched"))
	}
	return nil
}
