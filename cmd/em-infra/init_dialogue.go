package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/em-infra/em-infra/internal/terminal"
)

// dialogue asks questions at the terminal, one line for each answer.
type dialogue struct {
	streams
	lines *bufio.Reader
}

// usualStack is the name of a stack that is proposed.
const usualStack = "home"

// askPerson asks for what the hosts cannot be reached without, and prepares the questions that follow from what they have.
func (f *initFlags) askPerson(ctx context.Context, s streams) error {
	d := dialogue{streams: s, lines: bufio.NewReader(s.in)}
	for _, one := range []struct {
		question, proposed string
		into               *string
	}{
		{"name of the new stack", usualStack, &f.options.Answers.Stack},
		{"URL of Proxmox VE, e.g. https://vmhost:8006", "", &f.options.Endpoint},
	} {
		if *one.into != "" {
			continue
		}
		answer, err := d.ask(ctx, one.question, one.proposed, nil)
		if err != nil {
			return err
		}
		if *one.into = answer; answer == "" {
			*one.into = one.proposed
		}
	}
	if f.options.Token == "" && os.Getenv(proxmoxTokenVariable) == "" {
		token, err := d.secret(ctx, "API token of Proxmox VE, USER@REALM!NAME=SECRET (not shown)")
		if err != nil {
			return err
		}
		f.options.Token = token
	}
	if f.options.Answers.NAS.Endpoint != "" && f.options.NASKey == "" && os.Getenv(nasKeyVariable) == "" {
		key, err := d.secret(ctx, "API key of the NAS (not shown)")
		if err != nil {
			return err
		}
		f.options.NASKey = key
	}
	f.options.Ask = func(question, proposed string, wrong error) (string, error) {
		return d.ask(ctx, question, proposed, wrong)
	}
	f.options.Found = func(lines []string) {
		for _, line := range lines {
			fmt.Fprintf(s.out, " found      %s\n", line)
		}
	}
	return nil
}

// ask prints a question with what is proposed, and reads a line. The end of the input is an error.
func (d dialogue) ask(ctx context.Context, question, proposed string, wrong error) (string, error) {
	if wrong != nil {
		fmt.Fprintln(d.out, wrong)
	}
	if proposed != "" {
		question += " [" + proposed + "]"
	}
	fmt.Fprint(d.out, question+": ")
	if err := terminal.Flush(d.out); err != nil {
		return "", err
	}
	line, err := awaitLine(ctx, func() (string, error) { return d.lines.ReadString('\n') })
	if err != nil && ctx.Err() == nil {
		return "", refused(fmt.Errorf("the answers end (%w): answer each question, or give flags, with --yes for what they leave open", err))
	}
	return line, err
}

// awaitLine returns what is read, without the blanks around it. An interrupt ends the wait, not the reading.
func awaitLine(ctx context.Context, read func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		line, err := read()
		answers <- answer{strings.TrimSpace(line), err}
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case given := <-answers:
		if given.err != nil {
			return "", given.err
		}
		return given.text, nil
	}
}

// secret reads a line without showing it. An interrupt ends it, after which the terminal shows again what is typed.
func (d dialogue) secret(ctx context.Context, question string) (string, error) {
	fmt.Fprint(d.out, question+": ")
	if err := terminal.Flush(d.out); err != nil {
		return "", err
	}
	file, isFile := d.in.(*os.File)
	if !isFile {
		return "", nil // it is no terminal; the refusal says what is missing
	}
	descriptor := int(file.Fd())
	before, err := term.GetState(descriptor)
	if err != nil {
		return "", err
	}
	text, err := awaitLine(ctx, func() (string, error) {
		line, err := term.ReadPassword(descriptor)
		return string(line), err
	})
	if ctx.Err() != nil {
		return "", errors.Join(err, term.Restore(descriptor, before))
	}
	fmt.Fprintln(d.out)
	return text, err
}
