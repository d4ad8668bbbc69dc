package lives_test

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/control"
	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/tests/labstack"
	"github.com/em-infra/em-infra/tests/lives/history"
	"github.com/em-infra/em-infra/tests/lives/model"
)

// arm asks the lab for the faults.
func (f *life) arm(armed []history.Move) {
	f.t.Helper()
	for _, m := range armed {
		if m.Verb == history.Fault {
			tallied.count("faults armed")
			require.NoError(f.t, control.NewClient(f.lane.labDir()).SetFault(f.t.Context(), fault.Fault{Name: m.What, Nth: m.Number, Times: 1}))
		}
	}
}

// disarm takes the faults back, and returns how many have occurred. A lab that was killed has none.
func (f *life) disarm() int {
	f.t.Helper()
	asked := control.NewClient(f.lane.labDir())
	faults, err := asked.Faults(f.t.Context())
	if err != nil {
		return 0
	}
	occurred := 0
	for _, fault := range faults {
		if fault.Occurred > 0 {
			occurred++
			tallied.count("faults occurred")
			f.say("  %s occurred", fault.Name)
		}
	}
	_, err = asked.ClearFaults(f.t.Context(), "")
	require.NoError(f.t, err)
	f.eventually("the host answers", func() bool { return f.hostAnswers() })
	return occurred
}

// killer ends its victim at its call of the host.
type killer struct {
	*running
	kills []history.Move
	log   *labstack.Log[labstack.Call]
	hit   bool
	// again is the time of a second interrupt.
	again time.Time
	// hostDied is true if the lab has to be started again.
	hostDied bool
}

// look ends the victims that are due.
func (k *killer) look() {
	if !k.again.IsZero() && time.Now().After(k.again) {
		k.again = time.Time{}
		k.signal(syscall.SIGINT, []int{k.command.Process.Pid})
	}
	if len(k.kills) == 0 {
		return
	}
	calls, err := k.log.Read()
	require.NoError(k.t, err)
	made := len(calls) - k.calls
	k.kills = slices.DeleteFunc(k.kills, func(m history.Move) bool { return made >= m.Number && k.hits(m) })
}

// hits returns false while there is no such victim.
func (k *killer) hits(m history.Move) bool {
	tool := k.command.Process.Pid
	victims, signal := []int{tool}, syscall.SIGKILL
	switch m.What {
	case "engine":
		victims = k.named(tool, "pulumi")
	case "plugin":
		victims = k.plugins(tool)
		victims = victims[:min(1, len(victims))]
	case "all":
		victims = append(victims, k.descendants(tool)...)
	case "host":
		victims = k.lab()
		k.hostDied = len(victims) > 0
	case "interrupt":
		signal = syscall.SIGINT
	case "interrupt-twice":
		signal, k.again = syscall.SIGINT, time.Now().Add(300*time.Millisecond)
	}
	if len(victims) == 0 {
		return false
	}
	k.hit = true
	tallied.count("kills")
	k.say("  %s is hit", m.What)
	k.signal(signal, victims)
	return true
}

func (k *killer) signal(signal syscall.Signal, pids []int) {
	for _, pid := range pids {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			require.NoError(k.t, err)
		}
	}
}

func (k *killer) named(parent int, name string) []int {
	found, err := labstack.ChildrenNamed(parent, name)
	require.NoError(k.t, err)
	return found
}

func (k *killer) descendants(of int) []int {
	found, err := labstack.Descendants(of)
	require.NoError(k.t, err)
	return found
}

// plugins returns the processes below the engine that run one.
func (k *killer) plugins(tool int) []int {
	below := k.descendants(tool)
	all, err := labstack.Workers(k.stack.Name)
	require.NoError(k.t, err)
	var found []int
	for _, w := range all {
		if slices.Contains(below, w.PID) && strings.HasPrefix(w.Program(), "pulumi-resource-") {
			found = append(found, w.PID)
		}
	}
	return found
}

// lab returns the process of the lab.
func (k *killer) lab() []int {
	all, err := labstack.Workers(k.stack.Name)
	require.NoError(k.t, err)
	var found []int
	for _, w := range all {
		if w.Program() == "exe" && slices.Contains(w.Arguments, "serve") {
			found = append(found, w.PID)
		}
	}
	return found
}

// afterwards waits for the end of the processes of a killed run, and restarts a host that was killed.
func (k *killer) afterwards() {
	k.t.Helper()
	if k.hostDied {
		k.startLab()
	}
	if !k.hit {
		return
	}
	k.settles(patience, func() (left []model.Violation) {
		for _, w := range k.workers() {
			left = append(left, model.Violation{Invariant: model.Whole, What: "a process outlives its run: " + w})
		}
		return left
	})
}

// workers returns the programs that work for the stack, but for its lab.
func (f *life) workers() []string {
	f.t.Helper()
	all, err := labstack.Workers(f.stack.Name)
	require.NoError(f.t, err)
	var programs []string
	for _, w := range all {
		if !w.OfLab() {
			programs = append(programs, strings.Join(w.Arguments, " "))
		}
	}
	return programs
}

// remedies returns the commands in a failure that a user would run.
func remedies(output string) [][]string {
	var commands [][]string
	for _, part := range strings.Split(output, "`") {
		words := strings.Fields(part)
		if len(words) > 2 && words[0] == "em-infra" && slices.Contains(ways, words[1]+" "+words[2]) {
			commands = append(commands, words[1:])
		}
	}
	return commands
}

// ways are the commands that a failure may name and that a user then runs.
var ways = []string{"lab unlock", "lab destroy", "lab reset", "state unlock", "state restore", "task stop"}

// plugInAgain is the remedy of a machine that lacks a disk.
var plugInAgain = regexp.MustCompile(`plug disk (scsi\d+) of VM (\d+) in again`)

// follow runs the remedies of a failure.
func (f *life) follow(output string) {
	f.t.Helper()
	f.revertStaged(output)
	for _, disk := range plugInAgain.FindAllStringSubmatch(output, -1) {
		vmid, err := strconv.Atoi(disk[2])
		require.NoError(f.t, err)
		f.say("  remedy: plug %s of VM %d in: %v", disk[1], vmid, f.plugIn(f.t.Context(), disk[1], vmid))
	}
	for _, words := range remedies(output) {
		command := f.stack.Command(f.t.Context(), words...)
		if words[0] == "state" && !slices.Contains(words, "--yes") {
			command = exec.Command(command.Path, append(words, "--yes")...)
			command.Dir, command.Env = f.stack.Root, os.Environ()
		}
		output, err := command.CombinedOutput()
		f.say("  remedy: em-infra %s: %v", strings.Join(words, " "), err)
		f.texts["remedy-"+strings.Join(words, "-")] = string(output)
	}
}
