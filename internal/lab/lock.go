package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/poll"
)

const (
	// lookInterval is how often a lab checks that its folder still exists.
	lookInterval = 500 * time.Millisecond
	// nameTimeout is the longest time between a lab's lock and the writing of its process ID.
	nameTimeout  = time.Second
	nameInterval = 10 * time.Millisecond
)

// Why a lab ends by itself.
var (
	errFolderGone = errors.New("the folder of the lab was removed, so the lab ends")
	errLifeline   = errors.New("nobody holds the lab's lifeline any more, so the lab ends")
)

var errLocked = errors.New("a lab runs in this folder already: see it with `em-infra lab status`")

func lockFile(dir string) string { return filepath.Join(dir, "lab.lock") }

// Running returns the process ID of the lab that runs in a folder, 0 if none runs.
func Running(dir string) (int, error) {
	file, err := os.Open(lockFile(dir))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	nameless := fmt.Errorf("a lab runs in %s, but does not say which process it is: find it with `fuser %s`, end it, and start the lab again", dir, lockFile(dir))
	deadline, pid := time.Now().Add(nameTimeout), 0
	err = poll.Until(context.Background(), nameInterval, func(context.Context) (known bool, err error) {
		held, err := isHeld(file)
		if err != nil || !held {
			return true, err
		}
		late := time.Now().After(deadline) // taken before the lock is read: this process may be suspended in between
		if pid, known, err = named(file); !known && err == nil && late {
			err = nameless
		}
		return known, err
	})
	return pid, err
}

// named returns the process ID in a lock, if it was written already.
func named(file *os.File) (pid int, known bool, err error) {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 64))
	if err != nil {
		return 0, false, err
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	return pid, err == nil, nil
}

// hold is a lab's lock on its folder.
type hold struct{ file *os.File }

// lock makes this process the lab of a folder.
func lock(dir string) (*hold, error) {
	file, err := os.OpenFile(lockFile(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err = take(file); err == nil {
		err = errors.Join(file.Truncate(0), writeAt(file, strconv.Itoa(os.Getpid())+"\n"))
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &hold{file: file}, nil
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

func (h *hold) release() { h.file.Close() }

// watch calls end when the folder is removed or replaced, or the lifeline is released. It returns when ctx ends. A lab
// without its folder could only be stopped by its process ID.
func (h *hold) watch(ctx context.Context, lifeline string, end func(error)) {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if !h.isInPlace() {
				end(errFolderGone)
				return
			}
			if lifeline != "" && !isAlive(lifeline) {
				end(errLifeline)
				return
			}
		}
	}
}

// isAlive reports whether a lifeline is held. It returns true if that is unknown.
func isAlive(lifeline string) bool {
	file, err := os.Open(lifeline)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	defer file.Close()
	held, err := isHeld(file)
	return held || err != nil
}

func (h *hold) isInPlace() bool {
	held, err := h.file.Stat()
	if err != nil {
		return true // the open file is no evidence about the folder
	}
	found, err := os.Stat(h.file.Name())
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	return os.SameFile(held, found)
}
