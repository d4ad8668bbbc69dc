// Command filetimes gives each file under version control a time that follows from its content, and each of their folders the same one. Go takes the
// result of an earlier run of a test again if the files that the test has looked at have their former sizes and times (cmd/go/internal/test,
// computeTestInputsID), and all files of a clone are new. It does nothing if a file differs from the last commit, since its time shows the edits.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if exec.Command("git", "diff", "--quiet", "HEAD").Run() != nil {
		return // edited, or no clone
	}
	if err := setTimes(); err != nil {
		fmt.Fprintln(os.Stderr, "the times of the files:", err)
		os.Exit(1)
	}
}

func setTimes() error {
	list, err := exec.Command("git", "ls-files", "--stage", "-z").Output()
	if err != nil {
		return err
	}
	folders := map[string]bool{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		stat, name, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(stat) // mode, blob, stage
		if len(fields) != 3 || len(fields[1]) < 8 {
			return fmt.Errorf("git lists %q", entry)
		}
		seconds, err := strconv.ParseInt(fields[1][:7], 16, 64)
		if err != nil {
			return fmt.Errorf("git lists %q: %w", entry, err)
		}
		if err := setTime(name, seconds); err != nil {
			return err
		}
		for folder := filepath.Dir(name); folder != "."; folder = filepath.Dir(folder) {
			folders[folder] = true
		}
	}
	for folder := range folders {
		if err := setTime(folder, 0); err != nil {
			return err
		}
	}
	return nil
}

func setTime(name string, seconds int64) error {
	at := time.Unix(seconds, 0)
	return os.Chtimes(name, at, at)
}
