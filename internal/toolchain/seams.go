package toolchain

import (
	"context"
	"os"
	"os/exec"

	"github.com/em-infra/em-infra/internal/diskspace"
)

// seams are the calls to the machine that tests replace. For a nil field the real call is used.
type seams struct {
	lookPath  func(name string) (string, error)
	environ   func() []string
	freeSpace func(dir string) (int64, error)
	probe     func(ctx context.Context, host string) error
	linked    func() map[string]string // the versions of the modules that the program links
}

func (s seams) orReal() seams {
	if s.lookPath == nil {
		s.lookPath = exec.LookPath
	}
	if s.environ == nil {
		s.environ = os.Environ
	}
	if s.freeSpace == nil {
		s.freeSpace = diskspace.Free
	}
	if s.probe == nil {
		s.probe = probe
	}
	if s.linked == nil {
		s.linked = linked
	}
	return s
}
