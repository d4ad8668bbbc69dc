package operator

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"

	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// Preflight asks the host whether it can bear what the inventory says, all at once, and changes nothing.
func (o *Operator) Preflight(ctx context.Context) (Checks, error) {
	s, err := o.begin(ctx, needs{newStack: true, hostMayBeAway: true})
	if err != nil {
		return nil, err
	}
	report, err := s.preflight(ctx)
	return s.inPlaceOf(report), err
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

// checkHost runs the preflight before anything is changed. It tells what is not in order, refuses where that is in the way, and
// leaves warnings to the consent that is asked for afterwards, or was given beforehand.
func (s *session) checkHost(ctx context.Context) error {
	started := s.clock.Now()
	report, err := s.preflight(ctx)
	if err != nil {
		return err
	}
	s.emit(HostChecked{Checks: s.inPlaceOf(report), Took: s.clock.Now().Sub(started)})
	if refusal := hostRefusal(report); refusal != "" {
		return refused(errors.New(refusal))
	}
	return nil
}

// inPlaceOf are checks with the flags of a session in the commands that they name.
func (s *session) inPlaceOf(report preflight.Report) preflight.Report {
	report = slices.Clone(report)
	for i := range report {
		report[i].Sentence, report[i].Remedy = s.inPlace(report[i].Sentence), s.inPlace(report[i].Remedy)
	}
	return report
}
