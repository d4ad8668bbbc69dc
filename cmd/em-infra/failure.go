package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/em-infra/em-infra/internal/explain"
)

// failed is the end of a run that the engine has reported on. What is left to say is what the errors mean, as far as they
// are known, and what that is for the next run. The error of the Automation API quotes all that the engine printed.
func (s *session) failed(ctx context.Context, verb string, err error) error {
	again := typed("%s %s", verb, s.place)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintf(s.out, "\ninterrupted; the state is saved and says what exists. Go on with: %s\n", again)
	case auto.IsConcurrentUpdateError(err):
		return refused(errors.New("another run works on this stack: wait for it to end, then run again"))
	default:
		reason := "the reason stands above"
		for _, explanation := range explain.Text(err.Error()) {
			reason = "what is known about it stands above"
			fmt.Fprintf(s.out, "\nfailed%s\n", at(explanation.Subject))
			explainText(s.out, s.forThisRun(explanation, verb))
		}
		fmt.Fprintf(s.out, "\n%s failed; %s. What was done is in the state, so it is safe to run again: %s\n", verb, reason, again)
	}
	return failedSilently()
}

func at(subject string) string {
	if subject == "" {
		return ""
	}
	return " at " + subject
}

// forThisRun names the command that failed where the table, which does not know it, says up.
func (s *session) forThisRun(e explain.Explanation, verb string) explain.Explanation {
	e.Subject = "" // said in the line before
	command := strings.NewReplacer("run `em-infra up` again", "run `em-infra "+verb+"` again", "up goes on from here", verb+" goes on from here")
	e.Do, e.Safe = s.inPlace(command.Replace(e.Do)), s.inPlace(command.Replace(e.Safe))
	return e
}

// ofStack are the commands of this tool, as messages name them, that work on a stack.
var ofStack = regexp.MustCompile("`em-infra (up|destroy|preview|preview --refresh|preflight|status|role|state restore|state unlock)`")

// inPlace puts the flags of this session into the commands that a message names.
func (s *session) inPlace(text string) string {
	return asTyped(ofStack.ReplaceAllStringFunc(text, func(command string) string {
		return strings.TrimSuffix(command, "`") + " " + s.place + "`"
	}))
}
