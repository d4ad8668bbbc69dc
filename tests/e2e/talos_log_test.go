package e2e_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
)

// talosLine is one line of the lab's log of its nodes: a call, or a step of a machine's life.
type talosLine struct {
	Time         time.Time `json:"time"`
	VMID         int       `json:"vmid"`
	Method       string    `json:"method"`
	Step         string    `json:"step"`
	Code         string    `json:"code"`
	Milliseconds float64   `json:"ms"`
}

func (l talosLine) end() time.Time {
	return l.Time.Add(time.Duration(l.Milliseconds * float64(time.Millisecond)))
}

// talosLog is what happened on the lab's nodes since, in the order in which it began.
func (r *rehearsal) talosLog(since time.Time) []talosLine {
	r.t.Helper()
	file, err := os.Open(filepath.Join(r.dir(), "calls-talos.jsonl"))
	require.NoError(r.t, err)
	defer file.Close()
	var lines []talosLine
	for decoder := json.NewDecoder(file); ; {
		var line talosLine
		err := decoder.Decode(&line)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break // the last line may be in the making
		}
		require.NoError(r.t, err)
		if !line.Time.Before(since) {
			lines = append(lines, line)
		}
	}
	slices.SortStableFunc(lines, func(a, b talosLine) int { return a.Time.Compare(b.Time) })
	return lines
}

// outage is the time in which a node was not there for its cluster.
type outage struct {
	vmid     int
	from, to time.Time
}

// outages of nodes, from the moment when services are stopped until they run again. One that has not ended has no to.
func outages(lines []talosLine) []outage {
	var found []outage
	open := map[int]int{}
	for _, line := range lines {
		switch i, down := open[line.VMID]; {
		case line.Step == "stop" && !down:
			open[line.VMID] = len(found)
			found = append(found, outage{vmid: line.VMID, from: line.Time})
		case line.Step == "services" && down:
			found[i].to = line.end()
			delete(open, line.VMID)
		}
	}
	return found
}

// vmids of the nodes that were down, each once, sorted.
func vmids(outages []outage) []int {
	var found []int
	for _, o := range outages {
		found = append(found, o.vmid)
	}
	slices.Sort(found)
	return slices.Compact(found)
}
