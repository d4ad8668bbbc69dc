package labstack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/em-infra/em-infra/internal/lab"
)

// plugins is the folder of a lab that every copy shares: no test changes it.
const plugins = "pulumi-home"

// Copy makes the folder of a lab that does not run like another. The plugins stay where they are. If the folder had a description, it has one at each
// moment: a lab that starts elsewhere in the meantime chooses other ports than those of the labs whose descriptions it can read.
func Copy(from, to string) error {
	if err := MakeFolder(to); err != nil {
		return err
	}
	if err := replaceDescription(from, to); err != nil {
		return err
	}
	if err := eachEntry(to, os.RemoveAll); err != nil {
		return err
	}
	return eachEntry(from, func(path string) error {
		// Of the files of etcd, all but a few of 124 MiB are holes.
		output, err := exec.Command("cp", "--archive", "--sparse=always", path, to).CombinedOutput()
		if err != nil {
			return fmt.Errorf("copy the lab: %w\n%s", err, output)
		}
		return nil
	})
}

// replaceDescription replaces the description in one step. A folder without one is copied as it is.
func replaceDescription(from, to string) error {
	text, err := os.ReadFile(filepath.Join(from, lab.DescriptionName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(to, lab.DescriptionName), text, 0o600)
}

func eachEntry(dir string, do func(path string) error) error {
	found, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range found {
		if name := entry.Name(); name == plugins || name == lab.DescriptionName {
			continue
		}
		if err := do(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
