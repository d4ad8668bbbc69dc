package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/progress"
	"github.com/em-infra/em-infra/internal/status"
)

const (
	// verifyPatience covers the images that nodes pull after they have joined, on a slow line.
	verifyPatience = 10 * time.Minute
	verifyInterval = 2 * time.Second
	// verifyReminder is how often it is said what is waited for.
	verifyReminder = 15 * time.Second
)

// verify asks the nodes and the Kubernetes API until the cluster is well, and prints what stands. The error is what the
// cluster lacks when its time is up.
func (s *session) verify(ctx context.Context) (status.Report, error) {
	sources, err := s.sources(ctx)
	if err != nil {
		return status.Report{}, err
	}
	began := time.Now()
	report, err := s.untilWell(ctx, sources)
	if err != nil {
		return report, err
	}
	lacks := report.Lacks()
	progress.Line(s.out, phase.Verify.String(), fmt.Sprintf("%d nodes asked", len(report.Machines)), time.Since(began))
	fmt.Fprintln(s.out)
	if err := report.Print(s.out); err != nil {
		return report, err
	}
	if len(lacks) > 0 {
		return report, fmt.Errorf("the cluster was made, and does not work %s later:\n  %s\nlook at what it lacks, then verify again with `%s`",
			verifyPatience, strings.Join(append(lacks, report.Remedies()...), "\n  "), typed("up %s --only %s", s.place, phase.Verify))
	}
	return report, nil
}

// untilWell asks again and again, and says now and then what is waited for.
func (s *session) untilWell(ctx context.Context, sources status.Sources) (status.Report, error) {
	began := time.Now()
	for told := began; ; {
		report := sources.Report(ctx, time.Now())
		lacks := report.Lacks()
		if len(lacks) == 0 || time.Since(began) > verifyPatience {
			return report, nil
		}
		if time.Since(told) > verifyReminder {
			told = time.Now()
			progress.Line(s.out, phase.Verify.String(), fmt.Sprintf("waits for %s, %.0f min at most", lacks[0], verifyPatience.Minutes()), time.Since(began))
		}
		select {
		case <-ctx.Done():
			return report, context.Cause(ctx)
		case <-time.After(verifyInterval):
		}
	}
}
