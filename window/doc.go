// Package window describes event-time windows: fixed windows (tumbling, hopping, calendar) and sessions.
//
// Everything here is a pure function of times. A description such as Tumbling(time.Minute).Grace(5*time.Second) is a
// value; the engine asks it which windows a timestamp belongs to and when a window closes. Times are milliseconds
// since the epoch, may be negative, and appear as time.Time only in [Span], at the user's edge.
//
// # Rules
//
// A fixed window is half-open: [start, end). It closes when the watermark reaches end + grace. A record whose own
// window is closed is late. Windows are aligned to the epoch plus the offset, also before the epoch.
//
// A session is the closed interval [first, last] of record times. A record joins it when it is at most one gap away
// from either edge, the gap itself included. It closes when the watermark passes last + gap + grace. The two rules
// agree: as long as a record could still join, the session is open.
package window
