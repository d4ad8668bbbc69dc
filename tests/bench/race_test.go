package bench_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// racers are the nodes of the cluster of BenchmarkRace.
const racers = 3

// BenchmarkRace lives the same life with em-infra and with Terraform, in turn, each on a lab of its own, at the default time scale. A
// ratio that is over its goal fails it. It needs Terraform on PATH.
//
//	go test ./tests/bench -run XXX -bench Race -benchtime 3x -timeout 60m
func BenchmarkRace(b *testing.B) {
	var ours, theirs []lap
	for b.Loop() {
		ours = append(ours, raceOurs(b))
		theirs = append(theirs, raceTerraform(b))
	}
	for _, leg := range legs {
		mine, peer := median(ours, leg.of), median(theirs, leg.of)
		ratio := mine.Seconds() / peer.Seconds()
		b.Logf("%-36s em-infra %5.1f s, Terraform %5.1f s, ratio %.2f", leg.name, mine.Seconds(), peer.Seconds(), ratio)
		if leg.goal > 0 && ratio > leg.goal {
			b.Errorf("%s: %.2f times as long as Terraform, more than %.1f", leg.name, ratio, leg.goal)
		}
	}
}

// lap is how long each command of one life took. For the nodes of Terraform, which does not wait for them, it is the time until they
// were Ready.
type lap struct{ kubeconfig, ready, noChange, destroy time.Duration }

// legs are the times that are compared. A goal of 0 means that there is none.
var legs = []struct {
	name string
	goal float64
	of   func(lap) time.Duration
}{
	{"a first up, to the kubeconfig", 0.8, func(l lap) time.Duration { return l.kubeconfig }},
	{"a first up, to every node Ready", 1, func(l lap) time.Duration { return l.ready }},
	{"a preview that changes nothing", 0, func(l lap) time.Duration { return l.noChange }},
	{"destroy", 1, func(l lap) time.Duration { return l.destroy }},
}

func median(laps []lap, of func(lap) time.Duration) time.Duration {
	var all []time.Duration
	for _, l := range laps {
		all = append(all, of(l))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func raceOurs(b *testing.B) (l lap) {
	b.Helper()
	s := newStack(b, racers)
	s.run(b, "lab", "start")
	began := time.Now()
	l.kubeconfig = s.untilSaid(b, "kubeconfig created", "up", "--yes", "--lab")
	l.ready = time.Since(began)
	l.noChange = timed(func() { s.run(b, "preview", "--lab") })
	l.destroy = timed(func() { s.run(b, "destroy", "--yes", "--lab") })
	s.run(b, "lab", "stop")
	return l
}

func raceTerraform(b *testing.B) (l lap) {
	b.Helper()
	s := newStack(b, racers)
	s.run(b, "lab", "start")
	t := newTerraform(b, s, racers)
	began := time.Now()
	t.run(b, "apply", "-auto-approve", "-no-color")
	l.kubeconfig = time.Since(began)
	awaitNodes(b, t.run(b, "output", "-raw", "kubeconfig"), racers)
	l.ready = time.Since(began)
	l.noChange = timed(func() { t.run(b, "plan", "-no-color") })
	l.destroy = timed(func() { t.run(b, "destroy", "-auto-approve", "-no-color") })
	s.run(b, "lab", "stop")
	return l
}

func timed(work func()) time.Duration {
	began := time.Now()
	work()
	return time.Since(began)
}

// untilSaid runs a command of em-infra to its end and returns how long it took until it printed a text.
func (s stack) untilSaid(b *testing.B, what string, args ...string) (after time.Duration) {
	b.Helper()
	command := s.Command(context.WithoutCancel(b.Context()), append(args, s.On()...)...)
	output, err := command.StdoutPipe()
	require.NoError(b, err)
	var errs strings.Builder
	command.Stderr = &errs
	began := time.Now()
	require.NoError(b, command.Start())
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if after == 0 && strings.Contains(lines.Text(), what) {
			after = time.Since(began)
		}
	}
	_, _ = io.Copy(io.Discard, output) // a line that was too long
	require.NoError(b, command.Wait(), errs.String())
	require.NotZero(b, after, "up said %q", what)
	return after
}

// readyInterval is short beside what is measured.
const readyInterval = 50 * time.Millisecond

// awaitNodes returns when so many nodes are Ready.
func awaitNodes(b *testing.B, kubeconfig []byte, count int) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "kubeconfig")
	require.NoError(b, os.WriteFile(file, kubeconfig, 0o600))
	config, err := clientcmd.BuildConfigFromFlags("", file)
	require.NoError(b, err)
	api, err := kubernetes.NewForConfig(config)
	require.NoError(b, err)
	for {
		nodes, err := api.CoreV1().Nodes().List(b.Context(), metav1.ListOptions{})
		if err == nil && len(ready(nodes.Items)) == count {
			return
		}
		select {
		case <-b.Context().Done():
			require.NoError(b, err, "the nodes are not Ready")
		case <-time.After(readyInterval):
		}
	}
}

func ready(nodes []corev1.Node) []corev1.Node {
	return slices.DeleteFunc(nodes, func(n corev1.Node) bool {
		return !slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
	})
}
