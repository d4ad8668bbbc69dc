package truenas

import (
	"encoding/json"
	"maps"
	"slices"
	"syscall"
)

// method is one method of the API.
type method struct {
	// parameters are its positional parameters.
	parameters model
	// roles that may call it; with none, everyone who has logged in.
	roles []string
	// open methods need no login.
	open bool
	// work is done with the state locked.
	work func(c *connection, params []any) (any, error)
	// unlocked is work that waits, so it locks the state itself.
	unlocked func(c *connection, params []any) (any, error)
}

// call authorizes a call (main.py, authorize_method_call), checks its parameters, and does its work.
func (b *Box) call(c *connection, name string, params []any) (any, error) {
	m := b.methods[name]
	result, err := b.authorized(c, name, m, params)
	b.logCall(c, name, err)
	return result, err
}

func (b *Box) authorized(c *connection, name string, m method, params []any) (any, error) {
	user := c.account()
	switch {
	case m.open:
		if user == nil && (b.limits.exceeded(name, c.address) || b.fails(faultRateLimit, name)) {
			b.config.Sleep(b.config.Scaled(rateLimitDelay))
			return nil, callError{syscall.EBUSY, "Rate Limit Exceeded"}
		}
	case user == nil:
		return nil, callError{errNotAuthenticated, "Not authenticated"}
	case len(m.roles) > 0 && !user.may(m.roles):
		return nil, callError{syscall.EACCES, "Not authorized"}
	}
	checked, err := m.parameters.parameters(params)
	if err != nil {
		return nil, err
	}
	if m.unlocked != nil {
		return m.unlocked(c, checked)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	result, err := m.work(c, checked)
	if err != nil {
		return nil, err
	}
	return copyOf(result), b.save()
}

// logCall writes a line about a call, without its parameters, which may be secrets.
func (b *Box) logCall(c *connection, name string, failed error) {
	if b.config.Log == nil {
		return
	}
	line := struct {
		Method string `json:"method"`
		User   string `json:"user,omitempty"`
		Error  string `json:"error,omitempty"`
	}{Method: name}
	if user := c.account(); user != nil {
		line.User = user.name
	}
	if failed != nil {
		line.Error = failed.Error()
	}
	encoded, err := json.Marshal(line)
	if err != nil {
		return // a struct of texts
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, _ = b.config.Log.Write(append(encoded, '\n')) // a log that cannot be written stops nothing
}

// table returns the methods that are emulated.
func (b *Box) table() map[string]method {
	table := map[string]method{}
	for _, part := range []map[string]method{
		b.loginMethods(), b.coreMethods(), b.poolMethods(), b.datasetMethods(), b.resourceMethods(), b.serviceMethods(),
	} {
		for name, m := range part {
			table[name] = m
		}
	}
	for _, s := range b.rowServices() {
		for name, m := range s.methods() {
			table[name] = m
		}
	}
	return table
}

// Methods returns the names of the methods that are emulated, sorted.
func Methods() []string { return slices.Sorted(maps.Keys((&Box{}).table())) }

// may reports whether a user has one of these roles.
func (a account) may(roles []string) bool {
	return slices.Contains(a.roles, "FULL_ADMIN") || slices.ContainsFunc(roles, func(role string) bool { return slices.Contains(a.roles, role) })
}
