package operator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/poll"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/status"
)

const (
	// verifyPatience covers image pulls on a slow line after the nodes have joined.
	verifyPatience = 10 * time.Minute
	verifyInterval = 2 * time.Second
	// awayPatience is how long a machine may be off until the wait ends: nothing starts it meanwhile.
	awayPatience = time.Minute
	// hostPatience is how long Proxmox VE may be silent: a host that restarts takes some minutes.
	hostPatience = 5 * time.Minute
	// verifyReminder is the interval between two messages about what is waited for.
	verifyReminder = 15 * time.Second
)

// verification waits until a cluster is healthy.
type verification struct {
	ask    func(ctx context.Context, now time.Time) status.Report
	health nodeops.Health
	clock  Clock
	place  remedy.Place
	emit   func(Event)
}

// verification returns the verification of the cluster in the state.
func (c conclusion) verification(ctx context.Context) (verification, error) {
	sources, err := c.sources.ofCluster(ctx)
	return verification{ask: sources.Report, health: sources.Health(), clock: c.clock, place: c.cluster.place, emit: c.emit}, err
}

// run waits until the cluster is healthy and reports its status. After the time limit, the error contains what the cluster lacks. If machines are
// off, or their host is silent, the limit is shorter. A problem that waiting cannot solve ends the wait at once.
func (v verification) run(ctx context.Context) (status.Report, error) {
	began := v.clock.Now()
	report, err := v.untilWell(ctx)
	if err != nil {
		return report, err
	}
	lacks, took := report.Lacks(), v.clock.Now().Sub(began)
	v.emit(Verified{Report: report, Took: took})
	if away := report.Away(); len(lacks) > 0 && len(away) > 0 {
		return report, fmt.Errorf("the cluster does not work:\n  %s\nrun `em-infra up %s`, which starts or creates what is away (%s), and verifies the cluster",
			strings.Join(lacks, "\n  "), v.place.Stack, strings.Join(away, ", "))
	}
	if len(lacks) > 0 {
		return report, fmt.Errorf("the cluster was made, and does not work%s:\n  %s\nlook at what it lacks, then verify again with `em-infra up %s --only %s`",
			v.later(report, began), strings.Join(append(lacks, report.At(v.place).Remedies(took)...), "\n  "), v.place.Stack, phase.Verify)
	}
	return report, nil
}

// later returns in words how long the wait has taken, such as " 5 min later"; empty if waiting would not have helped.
func (v verification) later(report status.Report, began time.Time) string {
	if report.IsAlarmed() || report.IsTaken() {
		return ""
	}
	return " " + poll.InWords(v.clock.Now().Sub(began).Round(time.Minute)) + " later"
}

// untilWell polls the status and reports now and then what it waits for.
func (v verification) untilWell(ctx context.Context) (status.Report, error) {
	began := v.clock.Now()
	registration := &nodeops.Registration{Health: v.health, Now: v.clock.Now}
	for reminded, wereThere := began, began; ; {
		now := v.clock.Now()
		report := v.ask(ctx, now)
		lacks, limit := report.Lacks(), verifyPatience
		switch {
		case len(report.Away()) > 0:
			limit = awayPatience
		case report.IsHostSilent():
			limit = hostPatience
		default:
			wereThere = now
		}
		isEndless := report.IsAlarmed() || report.IsTaken()
		if len(lacks) == 0 || isEndless || now.Sub(began) > verifyPatience || now.Sub(wereThere) > limit {
			return report, nil
		}
		v.registerAgain(ctx, registration, report)
		if now.Sub(reminded) > verifyReminder {
			reminded = now
			v.emit(Progress{Part: phase.Verify.String(), What: fmt.Sprintf("waits for %s, %.0f min at most", lacks[0], limit.Minutes()), Took: now.Sub(began)})
		}
		select {
		case <-ctx.Done():
			return report, context.Cause(ctx)
		case <-v.clock.After(verifyInterval):
		}
	}
}

// registerAgain makes the machines whose Node was deleted register again. It only reports errors: the wait goes on, and ends with what the cluster
// lacks.
func (v verification) registerAgain(ctx context.Context, registration *nodeops.Registration, report status.Report) {
	for _, machine := range report.Unregistered() {
		restarted, err := registration.Missing(ctx, rolling.Node{Name: machine.Name, Address: machine.Address})
		switch {
		case err != nil:
			v.emit(Progress{Part: phase.Verify.String(), What: err.Error()})
		case restarted:
			v.emit(Progress{Part: phase.Verify.String(), What: machine.Name + " has no Node in Kubernetes: its kubelet is restarted"})
		}
	}
}
