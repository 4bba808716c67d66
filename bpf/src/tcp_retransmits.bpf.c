// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Segments that TCP sends again. That happens in a timer or an interrupt, in
 * which the current task has nothing to do with it: who used the socket, and
 * from where, is noted with the socket when it is connected, listened on or
 * written to.
 */
#include "types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define FT_IN_INTERRUPTS
#include "event.h"

/* How long what was noted of a user of a socket stays as it is. */
const volatile u64 refresh_ns = 1000000000;

#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
/* enum of include/net/tcp_states.h */
#define TCP_SYN_SENT 2
#define TCP_LISTEN 10
#define ICSK_TIME_LOSS_PROBE 5 /* include/net/inet_connection_sock.h */

/* Bits of ft_count_key.detail: what was sent again, and the state above it. */
#define FT_SYN 1
#define FT_SYN_ACK 2
#define FT_DATA 3
#define FT_LOSS_PROBE 4
#define FT_STATE_SHIFT 8
#define FT_NO_OWNER (1ULL << 32) /* nobody used the socket while we looked */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	u8 bytes[16];
};

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport; /* network order */
	u16 skc_num;
	u16 skc_family;
	u8 skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol; /* since 5.6 */
};

struct request_sock {
	struct sock_common __req_common;
};

struct inet_connection_sock {
	u8 icsk_pending;
};

struct tcp_skb_cb {
	u16 tcp_gso_segs;
};

struct sk_buff {
	char cb[48];
};

#pragma clang attribute pop

/* Frames that are kept with a socket. */
#define FT_OWNER_FRAMES 64

/* Who used a socket. A socket that is accepted begins with its listener's. */
struct ft_owner {
	struct ft_count_key key;
	u64 seen_ns;
	u64 len;
	u64 words[FT_OWNER_FRAMES];
};
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct ft_owner);
} owners SEC(".maps");

/* Notes that the current task uses a socket. */
static __always_inline void ft_used(void *ctx, struct sock *sk)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 now = bpf_ktime_get_ns(), pid_tgid = bpf_get_current_pid_tgid();
	struct ft_count_key key = {};
	struct ft_scratch *s;
	struct ft_owner *o;
	struct ft_walk w = {};
	u32 zero = 0;

	o = bpf_sk_storage_get(&owners, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!o)
		return;
	if (o->key.pid == pid_tgid >> 32 && now - o->seen_ns < refresh_ns)
		return;
	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s || s->busy)
		return;
	s->busy = 1;
	barrier();
	ft_identify(&key, task, pid_tgid);
	w.s = s;
	if (ft_walk_begin_saved(&w, task))
		ft_walk_on(&w, ctx, task, &key);
	key.flags |= w.flags | w.end << FT_END_SHIFT;
	o->len = w.len;
	if (o->len > FT_OWNER_FRAMES) {
		o->len = FT_OWNER_FRAMES;
		key.flags |= FT_USER_TRUNCATED;
	}
	bpf_probe_read_kernel(o->words, sizeof(o->words), s->words);
	o->key = key;
	o->seen_ns = now;
	ft_scratch_put(s);
}

SEC("tp_btf/inet_sock_set_state")
int tcp_state(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	s32 state = ctx[2];

	if (sk->sk_protocol == IPPROTO_TCP && (state == TCP_SYN_SENT || state == TCP_LISTEN))
		ft_used(ctx, sk);
	return 0;
}

/* Since 6.16 (0f08335ade71, "trace: tcp: Add tracepoint for tcp_sendmsg_locked()"). */
SEC("tp_btf/tcp_sendmsg_locked")
int tcp_send(u64 *ctx)
{
	ft_used(ctx, (void *)ctx[0]);
	return 0;
}

/* The same of sockets of all sorts, since 6.3 (6e6eda44b939). */
SEC("tp_btf/sock_send_length")
int sock_send(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	u16 family = sk->__sk_common.skc_family;

	if ((family == AF_INET || family == AF_INET6) && sk->sk_protocol == IPPROTO_TCP)
		ft_used(ctx, sk);
	return 0;
}

/* For kernels that have neither. */
SEC("fentry/tcp_sendmsg")
int tcp_send_function(u64 *ctx)
{
	ft_used(ctx, (void *)ctx[0]);
	return 0;
}

/* Puts the ends of a connection into s->words: family and ports, here, there. */
#define FT_CONNECTION_WORDS 5
static __always_inline void ft_connection(struct ft_scratch *s, struct sock_common *c)
{
	u64 family = BPF_CORE_READ(c, skc_family);
	u16 port = BPF_CORE_READ(c, skc_dport);

	port = port >> 8 | port << 8; /* both architectures are little-endian */
	s->words[0] = family << 32 | (u64)BPF_CORE_READ(c, skc_num) << 16 | port;
	s->words[1] = s->words[2] = s->words[3] = s->words[4] = 0;
	if (family == AF_INET6) {
		BPF_CORE_READ_INTO((struct in6_addr *)&s->words[1], c, skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO((struct in6_addr *)&s->words[3], c, skc_v6_daddr);
	} else {
		s->words[1] = BPF_CORE_READ(c, skc_rcv_saddr);
		s->words[3] = BPF_CORE_READ(c, skc_daddr);
	}
}

/* Counts segments of a connection for who used the socket, which owner may be 0. */
static __always_inline void ft_sent_again(struct sock_common *c, struct ft_owner *owner, u64 detail,
					  u64 segments)
{
	struct ft_count add = { .count = 1, .last_ns = bpf_ktime_get_ns() };
	struct ft_count_key key = {};
	struct ft_scratch *s;
	struct ft_sink to;
	u64 len = 0;

	if (!ft_sink_open(&to, generation))
		return;
	ft_bump(&to.st->taken);
	if (owner && owner->key.pid) {
		key = owner->key;
		len = owner->len;
	} else {
		detail |= FT_NO_OWNER;
	}
	if (filter_targets && !ft_is_target(key.pid, key.start_ns)) {
		ft_bump(&to.st->filtered);
		return;
	}
	s = ft_scratch_take(&to);
	if (!s)
		return;
	key.detail = detail;
	add.sums[0] = segments;
	ft_connection(s, c);
	if (ft_store_words(s, to.chunks, FT_CONNECTION_WORDS, 0, &key.record))
		goto full;
	if (owner && len) {
		if (len > FT_OWNER_FRAMES)
			len = FT_OWNER_FRAMES; /* for the verifier */
		bpf_probe_read_kernel(s->words, sizeof(owner->words), owner->words);
		if (ft_store_stack(s, to.chunks, len, &key.user_stack))
			goto full;
	}
	ft_event_count(&to, &key, &add);
	ft_scratch_put(s);
	return;

full:
	ft_bump(&to.st->lost_stacks_full);
	ft_scratch_put(s);
}

SEC("tp_btf/tcp_retransmit_skb")
int tcp_retransmit(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct inet_connection_sock *icsk = (void *)sk;
	struct tcp_skb_cb *cb = (void *)ctx[1] + bpf_core_field_offset(struct sk_buff, cb);
	u64 detail = (u64)sk->__sk_common.skc_state << FT_STATE_SHIFT;
	u64 segments = BPF_CORE_READ(cb, tcp_gso_segs);

	if (sk->__sk_common.skc_state == TCP_SYN_SENT)
		detail |= FT_SYN;
	else if (BPF_CORE_READ(icsk, icsk_pending) == ICSK_TIME_LOSS_PROBE)
		detail |= FT_LOSS_PROBE;
	else
		detail |= FT_DATA;
	ft_sent_again(&sk->__sk_common, bpf_sk_storage_get(&owners, sk, 0, 0), detail,
		      segments ? segments : 1);
	return 0;
}

/* sk is that of the listener. */
SEC("tp_btf/tcp_retransmit_synack")
int tcp_retransmit_ack(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct request_sock *req = (void *)ctx[1];
	u64 detail = FT_SYN_ACK | (u64)sk->__sk_common.skc_state << FT_STATE_SHIFT;

	ft_sent_again(&req->__req_common, bpf_sk_storage_get(&owners, sk, 0, 0), detail, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
