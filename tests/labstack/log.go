package labstack

import (
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// Log is a log of one JSON object per line. A test that waits for a line reads the log many times, so each line is parsed only once.
type Log[T any] struct {
	path   string
	offset int64
	lines  []T
}

// HostLog returns the log of the calls to the Proxmox VE of the lab in a folder.
func HostLog(dir string) *Log[proxmox.Call] { return &Log[proxmox.Call]{path: lab.HostCalls(dir)} }

// LogOfNodes returns the log of the nodes of the lab in a folder.
func LogOfNodes(dir string) *Log[NodeLine] { return &Log[NodeLine]{path: lab.NodeCalls(dir)} }

// Read returns all lines so far. A missing log is empty, and a line that is being written is read the next time. A log that has become
// shorter was begun anew.
func (l *Log[T]) Read() ([]T, error) {
	file, err := os.Open(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < l.offset {
		l.offset, l.lines = 0, nil
	}
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		return nil, err
	}
	err = l.readNew(file)
	return l.lines, err
}

func (l *Log[T]) readNew(from io.Reader) error {
	decoder, start := json.NewDecoder(from), l.offset
	for {
		var line T
		err := decoder.Decode(&line)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		l.lines, l.offset = append(l.lines, line), start+decoder.InputOffset()
	}
}
