package service_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos/service"
)

func newTable(changes *[]string) *service.Table {
	now := func() time.Time { return time.Unix(1_700_000_000, 0) }

	return service.NewTable(now, func(c service.Change) error {
		*changes = append(*changes, c.ID+": "+service.Name(c.State)+": "+c.Message)

		return nil
	})
}

func TestLifeOfAService(t *testing.T) {
	t.Parallel()

	var changes []string

	table := newTable(&changes)
	require.NoError(t, table.Set("etcd", service.Preparing, "Running pre state"))
	require.NoError(t, table.Start("etcd"))
	require.NoError(t, table.SetHealth("etcd", false, "no leader"))
	require.NoError(t, table.Start("apid"))
	require.NoError(t, table.Set("etcd", service.Finished, "Service finished successfully"))

	require.Equal(t, []string{
		"etcd: Preparing: Running pre state",
		"etcd: Running: Started task etcd",
		"etcd: Running: Health check successful",
		"etcd: Running: Health check failed: no leader",
		"apid: Running: Started task apid",
		"apid: Running: Health check successful",
		"etcd: Finished: Service finished successfully",
	}, changes)

	list := table.List()
	require.Equal(t, "apid", list[0].GetId(), "in order")
	require.True(t, list[0].GetHealth().GetHealthy())
	require.Equal(t, "Finished", list[1].GetState())
	require.False(t, list[1].GetHealth().GetHealthy())
	require.Equal(t, "service not running", list[1].GetHealth().GetLastMessage())
	require.Len(t, list[1].GetEvents().GetEvents(), 5)
	require.Equal(t, "Finished", list[1].GetEvents().GetEvents()[4].GetState())
}

func TestUnknownHealthAndService(t *testing.T) {
	t.Parallel()

	table := newTable(new([]string))
	require.NoError(t, table.Set("apid", service.Waiting, "Waiting for api certificates"))
	require.True(t, table.List()[0].GetHealth().GetUnknown())

	_, known := table.State("sshd")
	require.False(t, known)
}

// TestHistoryIsBounded checks Talos' limit.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()

	table := newTable(new([]string))
	for range 100 {
		require.NoError(t, table.Start("kubelet"))
	}

	require.Len(t, table.List()[0].GetEvents().GetEvents(), 64)
}

func TestFailureToPublishIsReported(t *testing.T) {
	t.Parallel()

	table := service.NewTable(time.Now, func(service.Change) error { return errors.New("no") })
	require.EqualError(t, table.Start("kubelet"), "no\nno")
}
