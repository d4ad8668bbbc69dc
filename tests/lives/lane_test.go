package lives_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
	"github.com/em-infra/em-infra/tests/lives/model"
	"github.com/em-infra/em-infra/tests/lives/site"
)

// lane is a cluster of a topology, with a copy of its lab from its birth. A life has it to itself.
type lane struct {
	topology site.Topology
	stack    labstack.Stack
	born     bool
}

// timeScale multiplies the delays of a real host. With 0, tools that wait for a node to become unreachable do not notice it.
const timeScale = "0.01"

func (l *lane) copied() string { return filepath.Join(workshop.Dir, l.stack.Name, "lab") }

// comeBack restores the lane's initial state, which is created first for a new lane, and returns the life that begins there.
func (l *lane) comeBack(t testing.TB) *life {
	t.Helper()
	f := newLife(t, l)
	f.writeInventory()
	if !l.born {
		require.NoError(t, os.RemoveAll(l.stack.Dir()))
		f.must("lab", "start", "--time-scale", timeScale, "--seed", "life")
		f.must("up", "--lab", "--yes")
		f.isWhole(model.Want{Site: f.site})
		f.must("lab", "stop")
		require.NoError(t, labstack.Copy(l.stack.Dir(), l.copied()))
		l.born = true
	}
	require.NoError(t, labstack.Copy(l.copied(), l.stack.Dir()))
	f.must("lab", "start")
	f.isWhole(model.Want{Site: f.site})
	return f
}

// stop stops the lab.
func (l *lane) stop(t testing.TB) {
	t.Helper()
	command := l.stack.Command(context.Background(), "lab", "stop", "--stack", l.stack.Name)
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("lab stop: %v\n%s", err, output)
	}
}

// laneSet is the lanes of this process. There are never more of a topology than lives are played at once.
type laneSet struct {
	mu   sync.Mutex
	made int
	free []*lane
}

// take returns a lane of a topology that is free, or a new one.
func (s *laneSet) take(t testing.TB, of site.Topology) *lane {
	t.Helper()
	tool, err := workshop.Tool()
	require.NoError(t, err)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range s.free {
		if l.topology == of {
			s.free = append(s.free[:i:i], s.free[i+1:]...)
			return l
		}
	}
	s.made++
	// No other process has stacks of this name, so that a command line tells whose a process is.
	name := fmt.Sprintf("life-%d-%02d", os.Getpid(), s.made)
	inventory := filepath.Join(workshop.Dir, name, "inventory")
	require.NoError(t, os.MkdirAll(inventory, 0o700))
	if of.Addons {
		output, err := exec.Command("cp", "-r", filepath.Join(root, "tests", "charts", "flux-like"), filepath.Join(inventory, site.ChartFolder)).CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
	return &lane{topology: of, stack: labstack.Stack{Name: name, Root: root, Inventory: inventory, Tool: tool}}
}

// giveBack makes a lane available to the next life.
func (s *laneSet) giveBack(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, l)
}

// remove removes the folders of the lanes, in which no lab runs any more.
func (s *laneSet) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.free {
		if err := os.RemoveAll(l.stack.Dir()); err != nil {
			return err
		}
	}
	return nil
}
