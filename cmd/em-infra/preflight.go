package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/preflight"
	"github.com/em-infra/em-infra/internal/progress"
	"github.com/em-infra/em-infra/internal/terminal"
)

// preflightFlags are the flags of preflight.
type preflightFlags struct {
	place  stackFlags
	output string
}

func newPreflightCommand() *cobra.Command {
	var flags preflightFlags
	command := &cobra.Command{
		Use:   "preflight --stack STACK",
		Short: "Ask the host whether it can bear what the inventory says; only reads",
		Long: `Ask Proxmox VE and the Image Factory whether a run could succeed: privileges, storages, bridges, VMIDs, addresses,
memory, PCI devices. Nothing is changed. For each GPU that no node has, the line of nodes.yaml that takes it is shown.
up asks the same before it begins.

Exit codes: 0 nothing is in the way (warnings may be), 3 something is.`,
		Example: "  em-infra preflight --stack k3s-dev\n  em-infra preflight --stack k3s-dev --lab\n  em-infra preflight --stack k3s-dev --output json",
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.run(command.Context(), streamsOf(command))
		},
	}
	flags.place.bindPlace(command)
	flags.place.bindLab(command)
	bindOutput(command, &flags.output)
	return command
}

func (f *preflightFlags) run(ctx context.Context, streams streams) error {
	if err := checkOutput(f.output); err != nil {
		return err
	}
	render := preflightText
	if f.output == outputJSON {
		render = preflightJSON
	}
	s, err := openSession(ctx, f.place, want{newStack: true, mayBeAway: true}, streams.aside())
	if err != nil {
		return err
	}
	report, err := s.preflight(ctx)
	if err != nil {
		return err
	}
	if err := render(streams.out, report, s.inPlace); err != nil {
		return err
	}
	if report.Count(preflight.Fail) > 0 {
		return &exitError{code: exitRefused}
	}
	return nil
}

// preflight asks the host of the session.
func (s *session) preflight(ctx context.Context) (preflight.Report, error) {
	if err := s.findFormerNames(ctx); err != nil {
		return nil, err
	}
	return s.examineHost(ctx)
}

// preflightBeside asks the host while the engine thinks, since both take seconds. What the state says is known before. The result waits
// for the answer.
func (s *session) preflightBeside(ctx context.Context) func() (preflight.Report, error) {
	type answer struct {
		report preflight.Report
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		report, err := s.examineHost(ctx)
		answers <- answer{report, err}
	}()
	return sync.OnceValues(func() (preflight.Report, error) {
		given := <-answers
		return given.report, given.err
	})
}

func (s *session) examineHost(ctx context.Context) (preflight.Report, error) {
	factory, err := s.factoryURL()
	if err != nil {
		return nil, err
	}
	return preflight.Run(ctx, preflight.Subject{
		Inventory: s.inventory, FormerNames: s.program.FormerNames, Host: s.host, Factory: factory,
		Owner: s.owner, Known: s.known,
	})
}

func (s *session) factoryURL() (*url.URL, error) {
	factory, err := url.Parse(s.factory)
	if err != nil {
		return nil, refused(fmt.Errorf("the Image Factory's URL %q is none: set em-infra:imageFactoryUrl", s.factory))
	}
	return factory, nil
}

// hostRefusal is why up stops before it begins, which a preview says, too; empty when nothing is in the way.
func hostRefusal(report preflight.Report) string {
	if report.Count(preflight.Fail) == 0 {
		return ""
	}
	return fmt.Sprintf("refused: the host cannot bear it yet; %s. Nothing was touched", report.Summary())
}

// mayGoUp runs the preflight before anything is changed. It tells what is not in order, refuses where that is in the way,
// and leaves warnings to the consent that is asked for afterwards, or was given with --yes.
func (s *session) mayGoUp(ctx context.Context) error {
	started := time.Now()
	report, err := s.preflight(ctx)
	if err != nil {
		return err
	}
	if refusal := hostRefusal(report); refusal != "" {
		if err := checkLines(s.out, report.Unsound(), s.inPlace); err != nil {
			return err
		}
		return refused(errors.New(refusal))
	}
	progress.Line(s.out, "preflight", report.Summary(), time.Since(started))
	return checkLines(s.out, report.Unsound(), s.inPlace)
}

func preflightText(out io.Writer, report preflight.Report, inPlace func(string) string) error {
	if err := checkLines(out, report, inPlace); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%s. Nothing was touched\n", report.Summary())
	return err
}

// tones of what a check may end with.
var tones = map[preflight.Result]terminal.Tone{preflight.OK: terminal.Good, preflight.Warn: terminal.Warn, preflight.Fail: terminal.Bad}

func checkLines(out io.Writer, report preflight.Report, inPlace func(string) string) error {
	for _, check := range report {
		result, tone := string(check.Result), tones[check.Result]
		if check.Result == preflight.Fail {
			result = "FAIL" // it must not be overlooked
		}
		if _, err := fmt.Fprintf(out, " %s  %s\n", terminal.Paint(out, tone, terminal.Pad(result, 4)), inPlace(check.Sentence)); err != nil {
			return err
		}
		if check.Remedy == "" {
			continue
		}
		if _, err := fmt.Fprintf(out, "       → %s\n", inPlace(check.Remedy)); err != nil {
			return err
		}
	}
	return nil
}

// preflightReport is the JSON form of a report.
type preflightReport struct {
	// Checks are all of them in their order.
	Checks preflight.Report `json:"checks"`
	// OK is how many found nothing.
	OK int `json:"ok"`
	// Warnings is how many found what is worth knowing.
	Warnings int `json:"warnings"`
	// Failures is how many found what keeps up from running.
	Failures int `json:"failures"`
}

// checksInPlace are the checks with the flags of a session in the commands that they name.
func checksInPlace(report preflight.Report, inPlace func(string) string) preflight.Report {
	report = slices.Clone(report)
	for i := range report {
		report[i].Sentence, report[i].Remedy = inPlace(report[i].Sentence), inPlace(report[i].Remedy)
	}
	return report
}

func preflightJSON(out io.Writer, report preflight.Report, inPlace func(string) string) error {
	report = checksInPlace(report, inPlace)
	return writeJSON(out, preflightReport{
		Checks: report, OK: report.Count(preflight.OK), Warnings: report.Count(preflight.Warn), Failures: report.Count(preflight.Fail),
	})
}
