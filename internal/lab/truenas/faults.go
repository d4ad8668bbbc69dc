package truenas

import "github.com/em-infra/em-infra/internal/lab/fault"

// Names of the faults.
const (
	faultCut          = "nas-connection-cut"
	faultTooManyCalls = "nas-too-many-calls"
	faultRateLimit    = "nas-login-rate-limit"
	faultWrongKey     = "nas-wrong-key"
	faultExpiredKey   = "nas-key-expired"
	faultLocked       = "nas-dataset-locked"
	faultPoolFull     = "nas-pool-full"
	faultBusy         = "nas-dataset-busy"
	faultJobFailed    = "nas-job-failed"
	faultServiceDead  = "nas-service-does-not-start"
	faultOnlyREST     = "nas-only-rest"
	faultOff          = "nas-off"
)

// Faults are the faults of a box.
var Faults = []fault.Kind{
	{
		Name: faultCut, About: "the connection to the NAS is cut after a call's work and before its answer", Once: true, Calls: true,
		Source: "truenas api_client",
	},
	{
		Name: faultTooManyCalls, About: "the NAS has too many calls of this connection (-32000)", Once: true, Calls: true,
		Source: "truenas rpc.py",
	},
	{
		Name: faultRateLimit, About: "the NAS refuses a login, since there were 20 within a minute (EBUSY)", Once: true, Calls: true,
		Source: "truenas cache.py",
	},
	{Name: faultWrongKey, About: "the NAS does not accept the API key (AUTH_ERR)", Source: "truenas auth.py"},
	{Name: faultExpiredKey, About: "the API key has expired or was revoked (EXPIRED)", Source: "truenas auth.py"},
	{
		Name: faultLocked, About: "the datasets are encrypted and locked, as after a reboot of the NAS",
		Source: "truenas dataset.py",
	},
	{Name: faultPoolFull, About: "the pool has no room for a dataset (EFAULT, out of space)", Source: "truenas dataset.py"},
	{Name: faultBusy, About: "a dataset that is deleted is busy (EBUSY)", Source: "truenas dataset.py"},
	{Name: faultJobFailed, About: "a job of the NAS fails", Once: true, Calls: true, Source: "truenas job.py"},
	{
		Name: faultServiceDead, About: "a service of the NAS does not run after it was started; its job succeeds all the same",
		Source: "truenas service.py",
	},
	{Name: faultOnlyREST, About: "the NAS is so old that it has only REST and no JSON-RPC", Source: "truenas main.py"},
	{Name: faultOff, About: "the NAS is off: what connects to it has no answer", Source: "RFC 9293"},
}

// fails reports whether a fault occurs now, at a call or, with an empty method, anywhere.
func (b *Box) fails(name, method string) bool {
	if b.config.Faults == nil {
		return false
	}
	return b.config.Faults.Trigger(fault.Occasion{Endpoint: method}, func(asked string) bool { return asked == name }) == name
}
