package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/status"
)

const (
	// verifyPatience covers the images that nodes pull after they have joined, on a slow line.
	verifyPatience = 10 * time.Minute
	verifyInterval = 2 * time.Second
	// verifyReminder is how often it is said what is waited for.
	verifyReminder = 15 * time.Second
)

// verify asks the nodes and the Kubernetes API until the cluster is well, and says what it lacks while it is not. The
// report is the last one, of a cluster that is well or whose time is up.
func (s *session) verify(ctx context.Context) (status.Report, error) {
	sources, err := s.sources(ctx)
	if err != nil {
		return status.Report{}, err
	}
	began := time.Now()
	told := began
	for {
		report := sources.Report(ctx, time.Now())
		lacks := report.Lacks()
		waited := time.Since(began)
		switch {
		case len(lacks) == 0:
			fmt.Fprintf(s.out, " %-10s %-52s %s\n", phase.Verify, fmt.Sprintf("%d nodes work", len(report.Machines)), waited.Round(100*time.Millisecond))
			return report, nil
		case waited > verifyPatience:
			return report, nil
		case time.Since(told) > verifyReminder:
			told = time.Now()
			fmt.Fprintf(s.out, " %-10s %-52s %s of at most %s\n", phase.Verify, "waits for "+lacks[0], waited.Round(time.Second), verifyPatience)
		}
		select {
		case <-ctx.Done():
			return report, context.Cause(ctx)
		case <-time.After(verifyInterval):
		}
	}
}

// lacking is the error of a cluster that stands and does not work.
func lacking(lacks []string) error {
	return fmt.Errorf("the cluster was made, and does not work yet:\n  %s\nrun up again, or look at its machines' consoles in Proxmox VE", strings.Join(lacks, "\n  "))
}
