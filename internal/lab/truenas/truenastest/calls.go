package truenastest

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// callLog keeps the methods of the calls to a box.
type callLog struct {
	mu      sync.Mutex
	methods []string
}

// Write takes one line of the box's log.
func (l *callLog) Write(line []byte) (int, error) {
	var call struct {
		Method string `json:"method"`
	}
	if err := json.Unmarshal(line, &call); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.methods = append(l.methods, call.Method)
	return len(line), nil
}

// Writes returns the methods of the calls so far that may have changed the box, also of those that failed.
func (b *Box) Writes() []string {
	b.log.mu.Lock()
	defer b.log.mu.Unlock()
	var writes []string
	for _, method := range b.log.methods {
		if verb := method[strings.LastIndex(method, ".")+1:]; slices.Contains([]string{"create", "update", "delete", "control"}, verb) {
			writes = append(writes, method)
		}
	}
	return writes
}
