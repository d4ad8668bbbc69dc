package progress_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/operator/internal/progress"
)

const (
	vm    = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$em-infra:index:TalosNode$proxmoxve:VM/virtualMachine:VirtualMachine::k3s-dev-worker-1-vm"
	join  = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$em-infra:index:TalosNode$command:local:Command::k3s-dev-worker-1-membership"
	node  = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$em-infra:index:TalosNode::k3s-dev-worker-1"
	stack = "urn:pulumi:k3s-dev::em-infra::pulumi:pulumi:Stack::em-infra-k3s-dev"
)

// run is a run of the engine whose reports are written as text.
type run struct {
	now  time.Time
	text strings.Builder
	*progress.Reporter
}

// lines writes reports as the command line does.
type lines struct{ out io.Writer }

func (l lines) Line(part, what string, took time.Duration) {
	terminal.WriteTimed(l.out, 10, part, what, took)
}

func (l lines) Failed(part, what string, took time.Duration) { l.Line(part, what+" FAILED", took) }

func (l lines) Note(text string) { fmt.Fprintf(l.out, " %-10s %s\n", "note", text) }

func (l lines) Waits(wait progress.Wait) {
	for line := range strings.Lines(wait.For) {
		fmt.Fprintf(l.out, " %-10s   %s\n", "", strings.TrimRight(line, "\n"))
	}
	if wait.Command != "" {
		fmt.Fprintf(l.out, " %-10s   em-infra %s\n", "", wait.Command)
	}
}

func newRun() *run {
	r := &run{now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	r.Reporter = progress.New(lines{&r.text}, func() time.Time { return r.now })
	return r
}

func (r *run) passes(d time.Duration) { r.now = r.now.Add(d) }

func step(urn, kind string, op apitype.OpType) apitype.StepEventMetadata {
	return apitype.StepEventMetadata{URN: urn, Type: kind, Op: op, New: &apitype.StepEventStateMetadata{Custom: !strings.HasPrefix(kind, "em-infra:")}}
}

func (r *run) begin(urn, kind string, op apitype.OpType) {
	r.Add(apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: step(urn, kind, op)}})
}

func (r *run) end(urn, kind string, op apitype.OpType) {
	r.Add(apitype.EngineEvent{ResOutputsEvent: &apitype.ResOutputsEvent{Metadata: step(urn, kind, op)}})
}

func (r *run) fail(urn, kind string, op apitype.OpType) {
	r.Add(apitype.EngineEvent{ResOpFailedEvent: &apitype.ResOpFailedEvent{Metadata: step(urn, kind, op)}})
}

func (r *run) say(urn, severity, text string) {
	r.Add(apitype.EngineEvent{DiagnosticEvent: &apitype.DiagnosticEvent{URN: urn, Severity: severity, Message: text}})
}

// passing adds an ephemeral message, as for showing progress.
func (r *run) passing(urn, text string) {
	r.Add(apitype.EngineEvent{DiagnosticEvent: &apitype.DiagnosticEvent{URN: urn, Severity: "info", Message: text, Ephemeral: true}})
}

const (
	vmType   = "proxmoxve:VM/virtualMachine:VirtualMachine"
	joinType = "command:local:Command"
	nodeType = "em-infra:index:TalosNode"
)

func TestReporter(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.begin(node, nodeType, apitype.OpCreate)
	r.end(node, nodeType, apitype.OpCreate)
	r.begin(vm, vmType, apitype.OpCreate)
	r.say(vm, "warning", "<{%reset%}>urn:x verification warning: Set `file_id` to `none` to leave the CDROM drive empty.<{%reset%}>\n")
	r.passes(3140 * time.Millisecond)
	r.end(vm, vmType, apitype.OpCreate)
	r.begin(join, joinType, apitype.OpCreate)
	r.passes(14 * time.Second)
	r.Tick()
	r.passes(2 * time.Second)
	r.Tick()
	r.passes(5 * time.Second)
	r.Tick()
	r.passes(10 * time.Second)
	r.Tick()
	r.end(join, joinType, apitype.OpCreate)
	r.begin(vm, vmType, apitype.OpSame)
	r.end(vm, vmType, apitype.OpSame)
	require.Equal(t, ` provision  k3s-dev-worker-1-vm created                                   3.1 s
 bootstrap  k3s-dev-worker-1-membership being created, usually 120 s     16.0 s
 bootstrap  k3s-dev-worker-1-membership being created, usually 120 s     31.0 s
 bootstrap  k3s-dev-worker-1-membership created                          31.0 s
`, r.text.String())
	require.Empty(t, r.Failures())
}

func TestReporterOfAFailure(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.say(stack, "info#err", "em-infra's stand-in for the provider command\n")
	r.passing(join, "k3s-dev-worker-1 is drained\n")
	r.passing(vm, "waiting for the task\n")
	r.say(vm, "debug", "[rawstate] Failed computing delta at \"checksum\"")
	r.begin(vm, vmType, apitype.OpUpdate)
	r.passes(10 * time.Second)
	r.say(vm, "error", "<{%fg 1%}>can't lock file '/var/lock/qemu-server/lock-102.conf' - got timeout<{%reset%}>\n")
	r.fail(vm, vmType, apitype.OpUpdate)
	r.say(stack, "error", "an unhandled error occurred: 1 error occurred:\n\t* cluster.yaml:40: addons.flux: has no age key: give one\n1 problem in 1 file; nothing was touched\n\n")
	r.say(stack, "error", "update failed\n")
	r.say("", "error", "update failed\n")
	require.Equal(t, ` note       em-infra's stand-in for the provider command
 note       k3s-dev-worker-1 is drained
 provision  k3s-dev-worker-1-vm FAILED                                   10.0 s
`, r.text.String())
	require.Equal(t, []progress.Failure{
		{Phase: phase.Provision, Name: "k3s-dev-worker-1-vm", Text: "can't lock file '/var/lock/qemu-server/lock-102.conf' - got timeout"},
		{Phase: phase.Generate, Text: "cluster.yaml:40: addons.flux: has no age key: give one\n1 problem in 1 file; nothing was touched"},
		{Phase: phase.Generate, Text: "update failed"},
	}, r.Failures())
}

// A message about the whole run names no resource.
func TestReporterOfAFailureOfNoResource(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.say("", "error", "update failed")
	require.Equal(t, []progress.Failure{{Text: "update failed"}}, r.Failures())
}

// A file that others may need stays on the host, so it must not be reported as deleted.
func TestReporterOfWhatStays(t *testing.T) {
	t.Parallel()
	const release = "urn:pulumi:k3s-dev::em-infra::em-infra:index:ClusterAddons$kubernetes:helm.sh/v3:Release::k3s-dev-flux"
	for op, want := range map[apitype.OpType]string{
		apitype.OpDelete:         " addons     k3s-dev-flux forgotten; it stays on the host                  0.0 s\n",
		apitype.OpDeleteReplaced: " addons     k3s-dev-flux forgotten; it stays on the host                  0.0 s\n",
		apitype.OpUpdate:         " addons     k3s-dev-flux changed                                          0.0 s\n",
	} {
		r := newRun()
		kept := apitype.StepEventMetadata{
			URN: release, Type: "kubernetes:helm.sh/v3:Release", Op: op,
			Old: &apitype.StepEventStateMetadata{Custom: true, RetainOnDelete: true},
		}
		r.Add(apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: kept}})
		r.Add(apitype.EngineEvent{ResOutputsEvent: &apitype.ResOutputsEvent{Metadata: kept}})
		require.Equal(t, want, r.text.String(), op)
	}
}

// TestReporterSaysWhatIsWaitedFor: after the usual time, the line contains the limit instead, and the next line the cause of the
// wait. A new cause is reported at once.
func TestReporterSaysWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.begin(join, joinType, apitype.OpCreate)
	r.begin(vm, vmType, apitype.OpCreate)
	r.passing(join, "192.168.20.21: no answer: it installs, or boots (15 min at most)\n")
	require.Equal(t, []progress.Work{{URN: join, Kind: apitype.OpCreate, Began: r.now}, {URN: vm, Kind: apitype.OpCreate, Began: r.now}}, r.Working())
	r.passes(15 * time.Second)
	r.Tick()
	r.WaitsFor(vm, progress.Wait{For: "task qmclone: no line in its log for 15 s"})
	r.passes(165 * time.Second)
	r.Tick()
	r.WaitsFor(vm, progress.Wait{For: "task qmclone: no line in its log for 180 s"})
	r.end(vm, vmType, apitype.OpCreate)
	r.WaitsFor(vm, progress.Wait{For: "nobody waits for it any more"})
	require.Equal(t, ` bootstrap  k3s-dev-worker-1-membership being created, usually 120 s     15.0 s
              192.168.20.21: no answer: it installs, or boots (15 min at most)
 provision  k3s-dev-worker-1-vm being created, usually 15 s              15.0 s
              task qmclone: no line in its log for 15 s
 bootstrap  k3s-dev-worker-1-membership being created, at most 15 min   180.0 s
              192.168.20.21: no answer: it installs, or boots (15 min at most)
 provision  k3s-dev-worker-1-vm being created, at most 20 min           180.0 s
              task qmclone: no line in its log for 15 s
              task qmclone: no line in its log for 180 s
 provision  k3s-dev-worker-1-vm created                                 180.0 s
`, r.text.String())
}
