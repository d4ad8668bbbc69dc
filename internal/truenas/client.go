package truenas

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/em-infra/em-infra/internal/poll"
	"github.com/em-infra/em-infra/internal/remedy"
)

// ErrLost is wrapped by the error of a call whose answer was lost with the connection: whether its work was done has to be looked up.
var ErrLost = errors.New("the connection to TrueNAS broke before the answer")

// maxMessage is the length in bytes of the longest message that the box accepts (utils/limits.py); a longer one would end the connection.
const maxMessage = 65536

// Client is a connection that has logged in. It is safe for concurrent use.
type Client struct {
	socket  *websocket.Conn
	writing sync.Mutex

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
	ended   error
}

// answer is a message of the box: an answer with an ID, or a notification without one.
type answer struct {
	ID     *int            `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

func newClient(socket *websocket.Conn) *Client {
	c := &Client{socket: socket, waiting: map[int]chan answer{}}
	go c.read()
	return c
}

// read passes answers to the calls that wait for them, in whatever order they come.
func (c *Client) read() {
	for {
		var message answer
		if err := c.socket.ReadJSON(&message); err != nil {
			c.end(err)
			return
		}
		if message.ID == nil {
			continue
		}
		c.mu.Lock()
		waiting := c.waiting[*message.ID]
		delete(c.waiting, *message.ID)
		c.mu.Unlock()
		if waiting != nil {
			waiting <- message
		}
	}
}

// end tells every call that waits that there is no answer any more.
func (c *Client) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = lost(err)
	for ID, waiting := range c.waiting {
		close(waiting)
		delete(c.waiting, ID)
	}
}

func lost(err error) error {
	return remedy.Errorf("run it again, what was done is found and not repeated", "%w (%w)", ErrLost, err)
}

// Close ends the connection.
func (c *Client) Close() error { return c.socket.Close() }

// Call calls a method with positional parameters and decodes its result, unless into is nil. The error is an [*Error], wraps
// [ErrLost], or is that of the context.
func (c *Client) Call(ctx context.Context, into any, method string, params ...any) error {
	if params == nil {
		params = []any{}
	}
	ID, waiting, err := c.enroll()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": ID, "method": method, "params": params})
	if err == nil && len(message) > maxMessage {
		err = remedy.Errorf("shorten the lists", "%s: the parameters take %d bytes, and TrueNAS accepts %d", method, len(message), maxMessage)
	}
	if err != nil {
		c.withdraw(ID)
		return err
	}
	if err := c.write(message); err != nil {
		c.withdraw(ID)
		return fmt.Errorf("%s: %w", method, lost(err))
	}
	select {
	case <-ctx.Done():
		c.withdraw(ID)
		return remedy.Errorf("see that the box works, and run it again", "%s: TrueNAS has not answered (%w)", method, ctx.Err())
	case got, whole := <-waiting:
		return c.settle(got, whole, into, method)
	}
}

func (c *Client) settle(got answer, whole bool, into any, method string) error {
	switch {
	case !whole:
		c.mu.Lock()
		defer c.mu.Unlock()
		return fmt.Errorf("%s: %w", method, c.ended)
	case got.Error != nil:
		return got.Error.of(method)
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(got.Result, into); err != nil {
		return remedy.Errorf("see that its release is supported, docs/storage.md", "%s: TrueNAS answers in another form (%w)", method, err)
	}
	return nil
}

func (c *Client) enroll() (int, chan answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return 0, nil, c.ended
	}
	c.next++
	waiting := make(chan answer, 1)
	c.waiting[c.next] = waiting
	return c.next, waiting, nil
}

func (c *Client) withdraw(ID int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, ID)
}

func (c *Client) write(message []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.socket.WriteMessage(websocket.TextMessage, message)
}

// login logs in. The box answers a wrong key with a result, not with an error. auth.login_ex is used, because the shorter method is going to be
// removed.
func (c *Client) login(ctx context.Context, username, key string) error {
	var got struct {
		Type string `json:"response_type"`
	}
	err := c.Call(ctx, &got, "auth.login_ex", map[string]any{
		"mechanism": "API_KEY_PLAIN", "username": username, "api_key": key, "login_options": map[string]any{"user_info": false},
	})
	switch {
	case Number(err) == EBUSY:
		return errTooManyLogins
	case err != nil:
		return err
	}
	switch got.Type {
	case "SUCCESS":
		return nil
	case "AUTH_ERR":
		return remedy.Errorf("compare the user's name, or make another key in Credentials > Users > API Keys", "TrueNAS does not accept the API key of %s", username)
	case "EXPIRED":
		return remedy.Errorf("make another in Credentials > Users > API Keys", "the API key of %s has expired, or TrueNAS has revoked it", username)
	case "OTP_REQUIRED":
		return remedy.Errorf("use an API key of a user that has none", "TrueNAS asks %s for a second factor", username)
	default:
		return remedy.Errorf("see the audit log of the box", "TrueNAS answers the login of %s with %s", username, got.Type)
	}
}

// job is a job of the box, with its result or error.
type job struct {
	State  string          `json:"state"`
	Result json.RawMessage `json:"result"`
	Error  string          `json:"error"`
}

// jobInterval is the longest time between two looks at a job.
const jobInterval = 500 * time.Millisecond

// RunJob calls a method that starts a job, waits until it has ended or limit is over, and decodes its result.
func (c *Client) RunJob(ctx context.Context, limit time.Duration, into any, method string, params ...any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, remedy.Errorf("see Jobs in its web interface", "the job %s of TrueNAS has not ended within %s", method, limit))
	defer cancel()
	var number int
	if err := c.Call(ctx, &number, method, params...); err != nil {
		return err
	}
	return poll.Until(ctx, jobInterval, func(ctx context.Context) (ended bool, err error) {
		var found []job
		if err := c.Call(ctx, &found, "core.get_jobs", []any{[]any{"id", "=", number}}); err != nil {
			return false, err
		}
		if len(found) == 0 {
			return false, remedy.Errorf("run it again", "TrueNAS does not know the job %d of %s any more", number, method)
		}
		switch found[0].State {
		case "SUCCESS":
			if into == nil {
				return true, nil
			}
			return true, json.Unmarshal(found[0].Result, into)
		case "FAILED", "ABORTED":
			return false, &Error{Method: method, Number: EFAULT, Reason: found[0].Error}
		}
		return false, nil
	})
}
