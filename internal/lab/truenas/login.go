package truenas

import (
	"strings"
	"sync"
	"time"
)

// rateLimitDelay is how long the answer to one login too many takes; the real one draws 1 to 10 s (utils/rate_limit/cache.py).
const rateLimitDelay = time.Second

// rateLimit counts calls without a login: 20 in a period for each method and address (utils/rate_limit/cache.py).
type rateLimit struct {
	now    func() time.Time
	period time.Duration
	mu     sync.Mutex
	calls  map[string]*counted
}

type counted struct {
	number int
	since  time.Time
}

const (
	callsInPeriod = 20
	loginPeriod   = time.Minute
)

func (l *rateLimit) exceeded(method, address string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = map[string]*counted{}
	}
	key, now := method+"_##_"+address, l.now()
	count, there := l.calls[key]
	if !there || now.Sub(count.since) >= l.period {
		count = &counted{since: now}
		l.calls[key] = count
	}
	count.number++
	return count.number > callsInPeriod
}

var loginOptions = model{{"user_info", boolean, true}}

// loginData are the parameters by mechanism (api/v25_10_5/auth.py, AuthLoginExArgs).
var loginData = map[string]model{
	"API_KEY_PLAIN": {
		{"mechanism", text, required}, {"username", text, required}, {"api_key", text, required},
		{"login_options", loginOptions.object, entry{"user_info": true}},
	},
	"PASSWORD_PLAIN": {
		{"mechanism", text, required}, {"username", text, required}, {"password", text, required},
		{"login_options", loginOptions.object, entry{"user_info": true}},
	},
}

// login checks the one parameter of auth.login_ex, which depends on the mechanism in it.
func login(value any, at string, problems *invalids) any {
	given, is := value.(map[string]any)
	mechanism, named := given["mechanism"].(string)
	switch m, known := loginData[mechanism]; {
	case !is:
		problems.add(at, "Input should be a valid dictionary")
	case !named:
		problems.add(within(at, "mechanism"), "Field required")
	case !known:
		problems.add(at, "Input tag '%s' found using 'mechanism' does not match any of the expected tags: "+
			"<AuthMech.API_KEY_PLAIN: 'API_KEY_PLAIN'>, <AuthMech.PASSWORD_PLAIN: 'PASSWORD_PLAIN'>, "+
			"<AuthMech.TOKEN_PLAIN: 'TOKEN_PLAIN'>, <AuthMech.OTP_TOKEN: 'OTP_TOKEN'>", mechanism)
	default:
		return m.object(value, within(at, mechanism), problems)
	}
	return entry{}
}

func (b *Box) loginMethods() map[string]method {
	return map[string]method{
		"auth.login_ex": {
			open: true, parameters: model{{"login_data", login, required}},
			work: func(c *connection, params []any) (any, error) {
				return b.loginEx(c, params[0].(entry)), nil
			},
		},
		"auth.login_with_api_key": {
			open: true, parameters: model{{"api_key", text, required}},
			work: func(c *connection, params []any) (any, error) {
				return b.loginByKey(c, "", params[0].(string)) == "SUCCESS", nil
			},
		},
		"auth.me": {
			work: func(c *connection, _ []any) (any, error) { return b.userInfo(*c.account()), nil },
		},
		"auth.logout": {
			work: func(c *connection, _ []any) (any, error) {
				c.loggedIn(nil)
				return true, nil
			},
		},
	}
}

// loginEx answers a wrong key with a result, not with an error (plugins/auth.py, login_ex). No user has a password here.
func (b *Box) loginEx(c *connection, data entry) entry {
	outcome := "AUTH_ERR"
	if data["mechanism"] == "API_KEY_PLAIN" {
		outcome = b.loginByKey(c, data["username"].(string), data["api_key"].(string))
	}
	answer := entry{"response_type": outcome}
	if outcome == "SUCCESS" {
		answer["user_info"], answer["authenticator"] = nil, "LEVEL_1"
		if options, _ := data["login_options"].(entry); options["user_info"] == true {
			answer["user_info"] = b.userInfo(*c.account())
		}
	}
	return answer
}

// loginByKey returns the type of the response. A key that comes over plain HTTP from elsewhere is revoked.
func (b *Box) loginByKey(c *connection, username, key string) string {
	switch {
	case b.fails(faultWrongKey, ""):
		return "AUTH_ERR"
	case b.fails(faultExpiredKey, ""):
		return "EXPIRED"
	}
	number, _, _ := strings.Cut(key, "-")
	row := b.find(apiKeys, number)
	if row == nil || key == "" || b.state.Keys[number] != key || username != "" && row["username"] != username {
		return "AUTH_ERR"
	}
	if row["revoked"] == true || b.hasExpired(row) {
		return "EXPIRED"
	}
	if !c.secure {
		row["revoked"], row["revoked_reason"] = true, "Attempt to use over an insecure transport"
		return "EXPIRED"
	}
	user := b.account(row["username"].(string))
	if user == nil {
		return "AUTH_ERR"
	}
	c.loggedIn(user)
	return "SUCCESS"
}

func (b *Box) userInfo(user account) entry {
	return entry{
		"pw_name": user.name, "pw_gecos": user.name, "pw_dir": "/var/empty", "pw_shell": "/usr/sbin/nologin", "pw_uid": user.uid, "pw_gid": user.uid,
		"grouplist": nil, "sid": nil, "source": "LOCAL", "local": true, "attributes": entry{}, "two_factor_config": entry{},
		"privilege": entry{"roles": entry{"$set": user.roles}, "web_shell": false}, "account_attributes": []any{"LOCAL", "API_KEY"},
	}
}
