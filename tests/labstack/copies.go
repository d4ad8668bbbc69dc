package labstack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// plugins is the folder of a lab that every copy shares: no test changes it.
const plugins = "pulumi-home"

// Copy makes the folder of a lab that does not run like another. The plugins stay where they are.
func Copy(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
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

func eachEntry(dir string, do func(path string) error) error {
	found, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range found {
		if entry.Name() == plugins {
			continue
		}
		if err := do(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
