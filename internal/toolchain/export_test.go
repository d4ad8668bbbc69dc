package toolchain

import (
	"cmp"
	"context"
	"io"
	"math"
	"time"
)

// Seams are the calls to the machine that tests replace.
type Seams struct {
	LookPath  func(name string) (string, error)
	Environ   func() []string
	FreeSpace func(dir string) (int64, error)
	Probe     func(ctx context.Context, host string) error
	Linked    func() map[string]string
}

// With returns the options with other calls to the machine.
func (o Options) With(s Seams) Options {
	o.seams = seams{lookPath: s.LookPath, environ: s.Environ, freeSpace: s.FreeSpace, probe: s.Probe, linked: s.Linked}
	return o
}

// Lock takes the lock of a tool's build, as another process would, and returns the function that releases it.
func Lock(ctx context.Context, o Options, name string) (func(), error) {
	in, err := newInstaller(ctx, o)
	if err != nil {
		return nil, err
	}
	for i := range in.wanted {
		if w := &in.wanted[i]; w.name == name {
			l, err := acquire(ctx, in.entryDir(name, w.key)+".lock", func(string) {})
			if err != nil {
				return nil, err
			}
			return l.release, nil
		}
	}
	return nil, io.EOF
}

// A CatalogueEntry has the fields of a tool that the tests compare with the checkout.
type CatalogueEntry struct {
	Name                                string
	Kind                                Kind
	SDK, Server, Module, Main, Upstream string
	ModFile                             string
	Sources                             []string
}

// Catalogue lists the tools.
func Catalogue() []CatalogueEntry {
	var entries []CatalogueEntry
	for _, s := range catalogue() {
		entries = append(entries, CatalogueEntry{s.name, s.kind, s.sdk, s.server, s.module, s.main, s.upstream, cmp.Or(s.modFile, "go.mod"), s.sources})
	}
	return entries
}

// Step runs a step with progress. The step lasts for some time and writes one line.
func Step(w io.Writer, terminal bool, every, lasts time.Duration, what, line, done string) {
	p := newProgress(w)
	p.every = every
	if terminal {
		p.terminal = math.MaxInt32 // no such descriptor: a terminal of unknown width
	}
	s := p.step(what)
	s.note(line)
	time.Sleep(lasts)
	s.done(done)
}

// Unexported functions that the tests call.
var (
	Fits     = fits
	Diagnose = diagnose
	Span     = span
	Size     = size
	Find     = findSource
)

// ExecutableOn returns the file name of a tool on a system.
func ExecutableOn(system string, name string, kind Kind) string {
	return spec{name: name, kind: kind}.executableOn(system)
}
