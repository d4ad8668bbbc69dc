package lives_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
	"github.com/em-infra/em-infra/tests/lives/history"
	"github.com/em-infra/em-infra/tests/lives/model"
	"github.com/em-infra/em-infra/tests/lives/site"
)

// arguments of em-infra, by what is run.
var arguments = map[string][]string{
	"up":              {"up", "--lab", "--yes"},
	"preview":         {"preview", "--lab"},
	"status":          {"status", "--lab"},
	"drift":           {"drift", "--lab"},
	"until-provision": {"up", "--lab", "--yes", "--until", "provision"},
	"until-bootstrap": {"up", "--lab", "--yes", "--until", "bootstrap"},
	"only-verify":     {"up", "--lab", "--yes", "--only", "verify"},
	"only-bootstrap":  {"up", "--lab", "--yes", "--only", "bootstrap"},
	"destroy":         {"destroy", "--lab", "--yes"},
	"snapshot-etcd":   {"etcd", "snapshot", "--lab"},
	"adopt":           {"adopt", "--lab"},
}

// em returns a command of em-infra on the stack.
func (f *life) em(args ...string) *exec.Cmd {
	return f.stack.Command(context.Background(), append(args, f.stack.On()...)...)
}

// must runs a command that has to end well, beside the history.
func (f *life) must(args ...string) {
	f.t.Helper()
	f.mustOn(f.stack, args...)
}

// mustOn is must for a stack.
func (f *life) mustOn(stack labstack.Stack, args ...string) {
	f.t.Helper()
	output, err := stack.Command(context.Background(), append(args, stack.On()...)...).CombinedOutput()
	require.NoError(f.t, err, "%s\n%s", strings.Join(args, " "), output)
}

// pulumi returns an up of the engine alone, in a shell as a person has it.
func (f *life) pulumi() *exec.Cmd { return f.pulumiOn(f.stack) }

// pulumiOn is pulumi on a stack.
func (f *life) pulumiOn(stack labstack.Stack) *exec.Cmd {
	if f.layers != nil {
		f.writeProgram()
	}
	shell := exec.Command("sh", "-euc", `eval "$("$TOOL" lab env --stack "$STACK" --inventory "$INVENTORY")"
exec pulumi up --stack "$STACK" --yes --skip-preview --color never`)
	shell.Dir = stack.Root
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); name != "EM_INFRA" && !strings.HasPrefix(name, "PULUMI_") {
			shell.Env = append(shell.Env, entry)
		}
	}
	shell.Env = append(shell.Env, "TOOL="+stack.Tool, "STACK="+stack.Name, "INVENTORY="+stack.Inventory)
	shell.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return shell
}

// running is a command that was begun.
type running struct {
	*life
	what    string
	command *exec.Cmd
	output  bytes.Buffer
	began   time.Time
	calls   int // of the host, before
	nas     int // calls of the NAS, before
}

func (f *life) started(what string, command *exec.Cmd) *running {
	f.t.Helper()
	r := &running{life: f, what: what, command: command, began: time.Now(), calls: len(f.calls()), nas: len(f.nasCalls())}
	command.Stdout, command.Stderr = &r.output, &r.output
	require.NoError(f.t, command.Start())
	return r
}

// wait waits for its end, and reads its events meanwhile.
func (r *running) wait(look func()) model.Run {
	r.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- r.command.Wait() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ticks := 0; ; ticks++ {
		select {
		case err := <-ended:
			return r.ended(err)
		case <-tick.C:
			if time.Since(r.began) > model.Bound+time.Minute {
				if err := r.command.Process.Kill(); !errors.Is(err, os.ErrProcessDone) { // it may have ended by itself meanwhile
					require.NoError(r.t, err)
				}
			}
			if look != nil {
				look()
			}
			if ticks%ticksOfArguments == 0 {
				r.readArguments()
			}
		}
	}
}

// ticksOfArguments is how many ticks lie between two readings of the arguments of processes, which cost more than the rest.
const ticksOfArguments = 20

// readArguments keeps the arguments of the run's processes, which every user of the machine can read.
func (r *running) readArguments() {
	r.t.Helper()
	lines, err := labstack.Arguments(r.command.Process.Pid)
	require.NoError(r.t, err)
	for _, line := range lines {
		if !strings.Contains(r.texts[argumentsOfProcesses], line+"\n") {
			r.texts[argumentsOfProcesses] += line + "\n"
		}
	}
}

// argumentsOfProcesses is the name of that text.
const argumentsOfProcesses = "arguments-of-processes"

func (r *running) ended(err error) model.Run {
	r.t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(r.t, err)
	}
	took := time.Since(r.began)
	code := r.command.ProcessState.ExitCode()
	r.say("  %s: exit code %d after %s", r.what, code, took.Round(100*time.Millisecond))
	r.texts[fmt.Sprintf("output-%02d-%s", len(r.log), r.what)] = r.output.String()
	writes := append(labstack.Writes(r.life.calls()[r.calls:]), labstack.NASWrites(r.nasCalls()[r.nas:])...)
	return model.Run{What: r.what, Code: code, Output: r.output.String(), Writes: writes, Took: took}
}

// calls returns what the host was asked for so far.
func (f *life) calls() []labstack.Call {
	f.t.Helper()
	calls, err := labstack.Calls(f.lane.labDir())
	require.NoError(f.t, err)
	return calls
}

// nasCalls returns the methods that the NAS was called with so far.
func (f *life) nasCalls() []string {
	f.t.Helper()
	methods, err := labstack.NASCalls(f.lane.labDir())
	require.NoError(f.t, err)
	return methods
}

// run runs a command with the armed disturbances, and checks its effects with the model.
func (f *life) run(what string) model.Run {
	f.t.Helper()
	f.giveUp(what)
	f.giveUpLayers(what)
	armed := f.armed
	f.armed = nil
	f.arm(armed)
	r := f.started(what, f.commandOf(what))
	killer := &killer{running: r, kills: killsOf(armed)}
	result := r.wait(killer.look)
	occurred := f.disarm()
	killer.afterwards()
	result.Killed = killer.hit
	if killer.hit || occurred > 0 {
		f.disturb(what)
	}
	result.Excused = f.excuses(what)
	if strings.HasSuffix(what, "pulumi") && result.Code != 0 && result.Excused {
		result.Killed = true // what the engine says is not judged
	}
	f.judge(result)
	f.holds(what, result, r.began)
	return result
}

// excuses reports whether something may be in the way of a run.
func (f *life) excuses(what string) bool {
	ofCluster := f.layers == nil || model.OwnLayer(what) == site.ClusterLayer
	waits := f.pending > 0 && slices.Contains([]string{"pulumi", "only-bootstrap", "snapshot-etcd", "restore-etcd", "adopt"}, what)
	return f.disturbed && ofCluster || waits || f.layers != nil && f.layers.leftovers.Excuse(what)
}

// commandOf is the command line of what is run.
func (f *life) commandOf(what string) *exec.Cmd {
	f.t.Helper()
	if command, found := f.commandOfLayers(what); found {
		return command
	}
	switch what {
	case "pulumi":
		return f.pulumi()
	case "restore-oldest":
		backup, _ := f.oldestBackup()
		return f.em("state", "restore", "--lab", "--yes", "--from", backup)
	case "restore-etcd":
		return f.em(append(f.restoreArguments(), f.consents(what)...)...)
	}
	return f.em(append(slices.Clone(arguments[what]), f.consents(what)...)...)
}

// consents returns the flags for the control planes that an up removes or replaces.
func (f *life) consents(what string) (flags []string) {
	if what != "restore-etcd" && (arguments[what] == nil || arguments[what][0] != "up") {
		return nil
	}
	for _, m := range f.see().Machines {
		if !strings.HasPrefix(m.Name, "control-") {
			continue
		}
		if n, stays := f.site.Find(m.Name); !stays {
			flags = append(flags, "--allow-delete", m.Name)
		} else if n.VMID != m.VMID {
			flags = append(flags, "--allow-replace", m.Name)
		}
	}
	return flags
}

// giveUp has the model take the loss of what a run may take away, since all plans are consented to.
func (f *life) giveUp(what string) {
	if what == "destroy" {
		f.keeper.GiveUpAll()
		return
	}
	if f.layers != nil && model.OwnLayer(what) != site.ClusterLayer {
		return // a run of another stack
	}
	for _, m := range f.see().Machines {
		wanted := false
		for _, n := range f.site.Nodes {
			wanted = wanted || n.VMID == m.VMID
		}
		if !wanted {
			f.keeper.GiveUp(m.VMID)
			f.keeper.GiveUpMember(m.Name)
		}
	}
}

// judge checks a run with the model.
func (f *life) judge(r model.Run) {
	tallied.checked(model.Refusals, model.Bounds)
	f.violated(model.Judge(r))
}

// holds checks the state after a run.
func (f *life) holds(what string, r model.Run, began time.Time) {
	f.t.Helper()
	if !f.restoring { // which takes all control planes down
		f.oneAtATime(began)
	}
	f.nothingIsLost()
	f.holdsLayers(what, r)
	if r.Code != 0 || r.Killed {
		return
	}
	if what == "site-up" && f.site.HasCluster() {
		what = "up"
	}
	switch what {
	case "up":
		f.gone, f.disturbed, f.pending, f.deleted, f.restoring = false, false, 0, false, false
		f.holdsWhole()
	case "destroy":
		f.gone, f.disturbed, f.pending, f.deleted, f.restoring = true, false, 0, false, false
		f.cordoned = map[string]bool{}
		f.holdsWhole()
	case "restore-etcd":
		f.restoring = false
		f.pending++
	case "restore-oldest":
		f.disturbed = true // the state knows less than there is
		f.pending++
	case "pulumi", "until-provision", "until-bootstrap", "adopt":
		f.gone = false
		f.pending++ // something may be left to em-infra, or to the phases that follow
	}
	if what != "destroy" && !f.gone {
		f.keeper.Remember(f.see())
	}
}

func (f *life) oneAtATime(began time.Time) {
	f.t.Helper()
	lines, err := labstack.NodeLog(f.lane.labDir(), began)
	require.NoError(f.t, err)
	var outages []model.Outage
	for _, o := range labstack.Outages(lines) {
		outages = append(outages, model.Outage(o))
	}
	var controlPlanes []int
	for _, name := range f.site.Names(site.ControlPlane) {
		n, _ := f.site.Find(name)
		controlPlanes = append(controlPlanes, n.VMID)
	}
	tallied.checked(model.OneAtATime)
	f.violated(model.Overlap(controlPlanes, outages))
}

// killsOf returns the kills among what is armed.
func killsOf(armed []history.Move) []history.Move {
	var kills []history.Move
	for _, m := range armed {
		if m.Verb == history.Kill {
			kills = append(kills, m)
		}
	}
	return kills
}
