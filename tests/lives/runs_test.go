package lives_test

import (
	"context"
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

// run runs a command with the armed disturbances, and checks its effects with the model.
func (f *life) run(what string) model.Run {
	f.t.Helper()
	f.giveUp(what)
	f.giveUpLayers(what)
	armed := f.armed
	f.armed = nil
	f.keepGuarded()
	guard := f.watchGuarded()
	f.arm(armed)
	r := f.started(what, f.commandOf(what))
	killer := &killer{running: r, kills: killsOf(armed), log: labstack.HostLog(f.lane.labDir())}
	result := r.wait(killer.look)
	occurred := f.disarm()
	killer.afterwards()
	guard.ended(what, r.began)
	f.unsureOfGuarded = f.unsureOfGuarded || what == "destroy" || what == "restore-etcd"
	result.Killed = killer.hit
	if killer.hit || occurred > 0 {
		f.disturb(what)
	}
	result.Excused = f.excuses(what)
	if strings.HasSuffix(what, "pulumi") && result.Code != 0 && result.Excused {
		result.Killed = true // the messages of the engine are not judged
	}
	if last, followed := f.followsRefusal(what, result); followed {
		return last
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

// giveUp allows the loss of what a run may remove, since all plans are consented to.
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
	var controlPlanes []int
	for _, name := range f.site.Names(site.ControlPlane) {
		n, _ := f.site.Find(name)
		controlPlanes = append(controlPlanes, n.VMID)
	}
	tallied.checked(model.OneAtATime)
	f.violated(model.Overlap(controlPlanes, f.outages(began)))
}

// outages returns the times since then in which nodes were taken down.
func (f *life) outages(began time.Time) (outages []model.Outage) {
	f.t.Helper()
	lines, err := labstack.NodeLog(f.lane.labDir(), began)
	require.NoError(f.t, err)
	for _, o := range labstack.Outages(lines) {
		outages = append(outages, model.Outage(o))
	}
	return outages
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
