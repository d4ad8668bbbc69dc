package lab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// writesIn returns the calls in the log of a lab's host that may have changed it; nil before the lab was created.
func writesIn(log string) ([]string, error) {
	file, err := os.Open(log)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var writes []string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var call proxmox.Call
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil || call.Verb == "" {
			continue // an incomplete line, or a note of the lab
		}
		if call.Write() {
			writes = append(writes, fmt.Sprintf("%s %s", call.Verb, call.Path))
		}
	}
	return writes, lines.Err()
}
