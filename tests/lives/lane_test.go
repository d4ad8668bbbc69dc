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
	// beside are the stacks of the layers, on a lab that all share; none without layers.
	beside map[site.Layer]labstack.Stack
}

// timeScale multiplies the delays of a real host. With 0, tools that wait for a node to become unreachable do not notice it.
const timeScale = "0.01"

// folder is the one of the lane, which goes with the tests.
func (l *lane) folder() string { return filepath.Join(workshop.Dir, l.stack.Name) }

func (l *lane) copied(dir string) string {
	return filepath.Join(l.folder(), "copies", filepath.Base(dir))
}

// labDir is the folder of the lab, which is that of the cluster's stack without layers.
func (l *lane) labDir() string {
	if l.beside == nil {
		return l.stack.Dir()
	}
	return filepath.Join(l.stack.Root, ".lab", l.sharedLab())
}

// dirs are the folders of the stacks, and of the lab.
func (l *lane) dirs() []string {
	if l.beside == nil {
		return []string{l.stack.Dir()}
	}
	dirs := []string{l.labDir()}
	for _, stack := range l.stacks() {
		dirs = append(dirs, stack.Dir())
	}
	return dirs
}

// stacks are those of the lane, the lowest layer first.
func (l *lane) stacks() []labstack.Stack {
	var all []labstack.Stack
	if l.beside != nil {
		all = append(all, l.beside[site.HostsLayer], l.beside[site.SystemsLayer])
	}
	if l.topology.ControlPlanes > 0 {
		all = append(all, l.stack)
	}
	return all
}

// comeBack restores the lane's initial state, which is created first for a new lane, and returns the life that begins there.
func (l *lane) comeBack(t testing.TB) *life {
	t.Helper()
	f := newLife(t, l)
	f.writeInventory()
	if !l.born {
		f.isBorn()
		f.mustOn(l.stacks()[0], "lab", "stop")
		for _, dir := range l.dirs() {
			require.NoError(t, labstack.Copy(dir, l.copied(dir)))
		}
		l.born = true
	}
	for _, dir := range l.dirs() {
		require.NoError(t, labstack.Copy(l.copied(dir), dir))
	}
	f.startLab()
	f.isWhole(model.Want{Site: f.site})
	return f
}

// isBorn brings the site up for the first time.
func (f *life) isBorn() {
	f.t.Helper()
	for _, dir := range f.lane.dirs() {
		require.NoError(f.t, labstack.RemoveFolder(dir))
	}
	if f.layers == nil {
		f.must("lab", "start", "--time-scale", timeScale, "--seed", "life")
		f.must("up", "--lab", "--yes")
	} else {
		f.siteIsBorn()
	}
	f.isWhole(model.Want{Site: f.site})
}

// stop stops the lab.
func (l *lane) stop(t testing.TB) {
	t.Helper()
	stack := l.stacks()[0]
	command := stack.Command(context.Background(), append([]string{"lab", "stop"}, stack.On()...)...)
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
	if of.Layers {
		require.NoError(t, workshop.BuildTools(root)) // its project is in another folder
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range s.free {
		if l.topology == of {
			s.free = append(s.free[:i:i], s.free[i+1:]...)
			return l
		}
	}
	s.made++
	// No other process has stacks of this name, so that a command line shows which stack a process belongs to.
	name := fmt.Sprintf("life-%d-%02d", os.Getpid(), s.made)
	inventory := filepath.Join(workshop.Dir, name, "inventory")
	require.NoError(t, os.MkdirAll(inventory, 0o700))
	if of.Addons {
		output, err := exec.Command("cp", "-r", filepath.Join(root, "tests", "charts", "flux-like"), filepath.Join(inventory, site.ChartFolder)).CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
	made := &lane{topology: of, stack: labstack.Stack{Name: name, Root: root, Inventory: inventory, Tool: tool}}
	if of.Layers {
		made.makeProject(t)
	}
	return made
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
		if l.beside != nil {
			continue // its folder is in that of the tests
		}
		if err := labstack.RemoveFolder(l.stack.Dir()); err != nil {
			return err
		}
	}
	return nil
}
