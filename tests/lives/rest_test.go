package lives_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/poll"
	"github.com/em-infra/em-infra/tests/lives/model"
)

// patience bounds a wait for the world to come to rest, on a machine that is busy with other things.
const patience = 3 * time.Minute

// tries are how many runs without a fault a cluster may need until it is whole.
const tries = 4

// comesToRest applies the inventory without a fault, and checks everything with the model.
func (f *life) comesToRest() {
	f.t.Helper()
	f.say("at the end")
	f.armed = nil
	for _, up := range f.ups() {
		f.endsWell(up)
	}
	for _, preview := range f.previews() {
		if len(f.found) > 0 {
			return
		}
		if r := f.started(preview, f.commandOf(preview)).wait(nil); r.Code != 0 {
			f.violated([]model.Violation{{Invariant: model.Whole, What: "a preview in which something would change:\n" + r.Output}})
		}
	}
	if len(f.found) == 0 {
		f.holdsSecrets()
	}
}

// endsWell runs an up until it succeeds.
func (f *life) endsWell(up string) {
	f.t.Helper()
	ended := false
	for n := 0; n < tries && !ended && len(f.found) == 0; n++ {
		r := f.run(up)
		ended = r.Code == 0
		if !ended {
			f.follow(r.Output)
		}
		if n == tries-1 && !ended {
			f.violated([]model.Violation{{Invariant: model.Refusals, What: "doing what it says does not help:\n" + r.Output}})
		}
	}
}

// holdsWhole waits until the actual state matches the inventory.
func (f *life) holdsWhole() {
	f.t.Helper()
	want := model.Want{Site: f.site, Gone: f.gone}
	if f.guarded && !f.unsureOfGuarded {
		want.Guarded = guardedPods
	}
	tallied.checked(model.Whole)
	f.settles(patience, func() []model.Violation {
		seen := f.see()
		want.Cordons = f.cordons.After(seen)
		return want.Whole(seen)
	})
	f.cordons = want.Cordons
}

// settles asks until there is no violation. If that takes too long, the life has the violations of the last answer.
func (f *life) settles(within time.Duration, ask func() []model.Violation) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), within)
	defer cancel()
	var left []model.Violation
	if err := poll.Until(ctx, 200*time.Millisecond, func(context.Context) (bool, error) {
		left = ask()
		return len(left) == 0, nil
	}); err != nil {
		f.violated(left)
	}
}

// isWhole is holdsWhole for a life that has not begun.
func (f *life) isWhole(want model.Want) {
	f.t.Helper()
	var left []model.Violation
	f.eventually("the cluster is whole", func() bool {
		f.log, left = nil, want.Whole(f.see())
		for _, violation := range left {
			f.say("%s", violation)
		}
		return len(left) == 0
	})
}

// moment is how long the host may take to write its state after a change, on a machine that is busy with other things.
const moment = 30 * time.Second

func (f *life) nothingIsLost() {
	f.t.Helper()
	tallied.checked(model.Kept)
	f.settles(moment, func() []model.Violation { return f.keeper.Lost(f.see()) })
}

func (f *life) eventually(what string, holds func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("waited %s for: %s\n%s", patience, what, strings.Join(f.log, "\n"))
		}
	}
}

// holdsSecrets searches the files of all runs for secrets.
func (f *life) holdsSecrets() {
	f.t.Helper()
	tallied.checked(model.Secrets)
	secrets := append(f.secretsOfNodes(), f.secrets...)
	if f.site.HasCluster() {
		require.Greater(f.t, len(secrets), 10)
	}
	for _, dir := range f.lane.dirs() {
		f.readTexts(dir)
	}
	require.Contains(f.t, f.texts[argumentsOfProcesses], "pulumi --non-interactive up", "the arguments were read")
	f.violated(model.Leaks(secrets, f.texts))
}

// readTexts reads what must hold no secret in the folder of a stack or of a lab.
func (f *life) readTexts(dir string) {
	f.t.Helper()
	for _, place := range []string{
		"artifacts", "backups", "state", "lab.log", "calls-proxmox.jsonl", "calls-talos.jsonl", "calls-truenas.jsonl", "Pulumi.yaml",
		"Pulumi." + filepath.Base(dir) + ".yaml",
	} {
		require.NoError(f.t, filepath.WalkDir(filepath.Join(dir, place), func(path string, entry fs.DirEntry, err error) error {
			if os.IsNotExist(err) || err == nil && entry.IsDir() {
				return nil
			}
			if err != nil {
				return err
			}
			text, err := os.ReadFile(path) //nolint:gosec // below the stack's folder
			f.texts[strings.TrimPrefix(path, filepath.Dir(dir)+"/")] = string(text)
			return err
		}))
	}
}
