package proxmox_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// shownTime is what a host says about its clock.
type shownTime struct {
	Time, LocalTime int64
	Timezone        string
}

// TestTimeZones changes the zone of one host: its clock on the wall moves, the seconds do not, and the zone is kept.
func TestTimeZones(t *testing.T) {
	t.Parallel()

	file, at := stateFile(t), newClock()
	at.at.Store(1784116800e9) // 15 July 2026, 12:00 UTC: summer time in Berlin
	start := func() *lab {
		return newLab(t, func(c *proxmox.Config) {
			c.StateFile, c.Now = file, at.now
			c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil
		})
	}
	l := start()
	read := func(node string) (shown shownTime) {
		l.ok(http.MethodGet, "/nodes/"+node+"/time", nil, &shown)
		return shown
	}

	const now = 1784116800

	require.Equal(t, shownTime{now, now, "UTC"}, read("vmhost"))

	for zone, offset := range map[string]int64{"Asia/Kolkata": 19800, "Etc/GMT+5": -18000, "Europe/Berlin": 7200} {
		l.ok(http.MethodPut, "/nodes/vmhost/time", values("timezone="+zone), nil)
		require.Equal(t, shownTime{now, now + offset, zone}, read("vmhost"))
	}

	l.ok(http.MethodPut, "/nodes/vmhost/time", values("timezone=Europe/Berlin"), nil)
	require.Equal(t, shownTime{now, now, "UTC"}, read("vmhost2"), "another host keeps its own")

	require.NoError(t, l.server.Close())

	l = start()
	require.Equal(t, shownTime{now, now + 7200, "Europe/Berlin"}, read("vmhost"))
}

func TestTimeZonesThatAreNone(t *testing.T) {
	t.Parallel()

	l := administrator(t)

	for _, zone := range []string{
		"Europe/Bonn", "europe/berlin", "CEST", "Local", "localtime", "posix/Europe/Berlin", "../etc/passwd", "Europe", "+02:00",
	} {
		r := l.do(http.MethodPut, "/nodes/vmhost/time", values("timezone="+zone))
		require.Equal(t, "400 Parameter verification failed.", r.Status, zone)
		require.Equal(t, map[string]string{"timezone": "No such timezone"}, r.Errors, zone)
	}
}
