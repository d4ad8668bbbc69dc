package nodeops

import (
	"context"
	"fmt"
	"io"
	"time"
)

// stallLimit is the longest time that a stream may bring no data. A member of etcd that has lost its quorum, or whose machine restarts, can leave a
// stream open (etcd v3.6, server/etcdserver/api/v3rpc/maintenance.go, Snapshot).
const stallLimit = 30 * time.Second

// unlessStalled runs a transfer whose source ends with its context, and ends it when nothing was written for the limit.
func unlessStalled(ctx context.Context, limit time.Duration, to io.Writer, transfer func(context.Context, io.Writer) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := fmt.Errorf("nothing came for %s", limit)
	watch := time.AfterFunc(limit, func() { cancel(stalled) })
	defer watch.Stop()
	err := transfer(ctx, writerFunc(func(data []byte) (int, error) {
		watch.Stop() // a writer that is slow is no stalled stream
		defer watch.Reset(limit)
		return to.Write(data)
	}))
	if err != nil && context.Cause(ctx) == stalled { //nolint:errorlint // the very cause
		return stalled
	}
	return err
}

// writerFunc is a function as a writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(data []byte) (int, error) { return f(data) }
