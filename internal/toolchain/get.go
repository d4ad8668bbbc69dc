package toolchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// get gets the missing tools: official plugins from reachable servers, all others by a build from Go modules.
func (in *installer) get(ctx context.Context, missing []*wanted) error {
	if err := in.checkOfficial(missing); err != nil {
		return err
	}
	reachable := in.reachable(ctx, missing)
	if len(reachable) > 0 {
		// The CLI installs the plugins, so it comes first.
		if err := in.build(ctx, only(missing, CLI)); err != nil {
			return err
		}
		if err := in.installOfficial(ctx, reachable); err != nil {
			return err
		}
	}
	if err := in.build(ctx, missing); err != nil {
		return err
	}
	for _, w := range missing {
		if err := in.prune(w.name); err != nil {
			in.progress.line("old copies of %s stay in the cache: %v", w.name, err)
		}
	}
	return nil
}

func only(tools []*wanted, kind Kind) []*wanted {
	return slices.DeleteFunc(slices.Clone(tools), func(w *wanted) bool { return w.kind != kind })
}

// build builds the tools that are missing.
func (in *installer) build(ctx context.Context, tools []*wanted) error {
	todo := slices.DeleteFunc(slices.Clone(tools), func(w *wanted) bool { return in.present(ctx, w).Installed })
	if len(todo) == 0 {
		return nil
	}
	if in.source == "" {
		return noBuild(todo)
	}
	for _, w := range todo {
		if w.kind == CLI && !fits(w.version, in.sdk) {
			return fmt.Errorf("the program asks for Pulumi %s, and %s builds %s: put a pulumi of that version on PATH",
				in.sdk, w.module, w.version)
		}
	}
	g, err := in.newGoCommand(ctx)
	if err != nil {
		return err
	}
	if err := in.checkSpace(g, todo); err != nil {
		return err
	}
	in.announce(todo)
	for i, w := range todo {
		if err := in.buildOne(ctx, g, w, fmt.Sprintf("(%d of %d)", i+1, len(todo))); err != nil {
			return err
		}
	}
	return nil
}

// announce prints how long the builds take, if some are first builds.
func (in *installer) announce(todo []*wanted) {
	var cold time.Duration
	for _, w := range todo {
		if in.isFirst(w) {
			cold += w.cold
		}
	}
	if cold > 0 {
		in.progress.line("%d of the tools are built from Go modules: up to %s on two cores, twice that on slow ones, once; they stay in %s",
			len(todo), span(cold.Round(time.Minute)), in.cache)
	}
}

// isFirst reports whether the cache has no build of a tool yet. Then Go's own caches may be empty, too.
func (in *installer) isFirst(w *wanted) bool {
	entries, err := os.ReadDir(filepath.Join(in.cache, "tools", w.name))
	if err != nil {
		return true
	}
	return !slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		_, err := os.Stat(filepath.Join(in.cache, "tools", w.name, entry.Name(), manifestName))
		return err == nil && entry.Name() != w.officialKey()
	})
}

// buildOne builds one tool, or waits for the process that is building it.
func (in *installer) buildOne(ctx context.Context, g goCommand, w *wanted, count string) error {
	return in.exclusively(ctx, w, w.key, func(partial, dir string) error {
		step := in.progress.step(fmt.Sprintf("building %s %s %s", w.name, w.version, count))
		err := g.build(ctx, w, filepath.Join(in.source, w.module), partial, step.note)
		if err == nil {
			err = seal(partial, dir, w.executable(), manifest{Origin: w.origin(), From: w.from, Reason: w.reason})
		}
		if err != nil {
			step.fail()
			return in.explainBuild(ctx, g, w, err)
		}
		step.done(fmt.Sprintf("%s %s: built %s", w.name, w.version, count))
		return nil
	})
}

// exclusively creates an entry in a temporary folder while it holds the entry's lock. If the entry exists once the lock is free, it
// does not call work.
func (in *installer) exclusively(ctx context.Context, w *wanted, key string, work func(partial, dir string) error) error {
	dir := in.entryDir(w.name, key)
	l, err := acquire(ctx, dir+".lock", func(holder string) {
		in.progress.line("waiting for %s, which is getting %s %s", holder, w.name, w.version)
	})
	if err != nil {
		return fmt.Errorf("get %s %s: %w", w.name, w.version, err)
	}
	defer l.release()
	if _, there := in.entry(w, key); there {
		return nil
	}
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(partial, "bin"), 0o755); err != nil {
		return err
	}
	return errors.Join(work(partial, dir), os.RemoveAll(partial))
}
