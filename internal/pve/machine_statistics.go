package pve

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// timeframes are all that a host keeps, from the finest to the coarsest: a value exists only if at least half of its interval
// was measured (pve-cluster, pmxcfs/status.c), so a machine that ran for an hour is only in the finer ones, and one that ran
// for weeks, long ago, only in the coarsest.
var timeframes = []string{"hour", "day", "week", "month", "year"}

// wasMeasured reports whether a machine was measured while it ran, after a time. The host also measures machines that are off,
// but not their processor and memory (pve-manager Service/pvestatd.pm, update_qemu_status). Measurements belong to the VMID and
// outlast a machine. The error means that they cannot be read.
func (h Host) wasMeasured(ctx context.Context, node string, vmid int, after time.Time) (bool, error) {
	for _, timeframe := range timeframes {
		var rows []struct {
			Time int64    `json:"time"`
			CPU  *float64 `json:"cpu"`
			Mem  *float64 `json:"mem"`
		}
		path := nodePath(node, "qemu/"+strconv.Itoa(vmid)+"/rrddata")
		err := Reader{h.client}.get(ctx, &rows, path, "timeframe", timeframe, "cf", "AVERAGE")
		if err != nil && strings.Contains(err.Error(), "RRD error") && strings.Contains(err.Error(), "No such file or directory") {
			return false, nil // it is too new for a measurement
		}
		if err != nil {
			return false, fmt.Errorf("the measurements of VM %d on %s cannot be read: %w", vmid, node, err)
		}
		for _, row := range rows {
			if (row.CPU != nil || row.Mem != nil) && !time.Unix(row.Time, 0).Before(after) {
				return true, nil
			}
		}
	}
	return false, nil
}
