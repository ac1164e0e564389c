/* The engine's protocol: admission, tickets, parts, workers that come and go, a sleeping consumer, cancel.

   N steps of one item each in a window of W; P parts an item; T workers. What is one atomic access in the code is one
   atomic step here; sequentially consistent (weaker orders are the ordering tables' and the thread sanitizer's business).
   Checked: no deadlock (a lost wakeup or a lost start is one), window kept, every part made once, slots not bound while
   somebody is inside, every slot returned at the end.

   Each -D below plants one fault; every one of them must be found:
     LEAVE_BLIND     a worker leaves without comparing the tick
     NO_RECHECK      the consumer sleeps without looking again after announcing itself
     TICK_EARLY      the tick is added before the limit is raised
     NO_ANNOUNCE     raising the limit adds no tick
     SILENT          publication does not notify
     NO_HEAL         a late clear of a bit is not repaired
     VOID_OPENED     cancel voids only items that are already open
     EARLY_RETURN    cancel returns the slot without waiting for the threads inside                                  */
#ifndef N
#define N 3
#endif
#ifndef W
#define W 1
#endif
#ifndef P
#define P 2
#endif
#ifndef T
#define T 2
#endif
#ifndef CANCEL
#define CANCEL 0        /* steps delivered before the cancel; 0: no cancel */
#endif
#define SLOTS (W + 2)
#define NONE 99

byte next, limit, delivered;             /* tickets; one item a step */
byte working, tick;                       /* the coming-and-going word */
byte place[W];                           /* step's place -> slot */
bool open[W];                             /* open items */
byte word_t[SLOTS], word_left[SLOTS];    /* the item's word: ticket, parts left */
byte count[SLOTS];                       /* parts not finished */
byte undone[SLOTS];                      /* items not complete */
byte step_of[SLOTS];
bool busy[SLOTS];                        /* not in the pool */
byte inside[SLOTS];                      /* threads in the job's code */
byte ring[W];                            /* NONE, or the slot that was published */
byte ring_step[W];                       /* the step the place is open for */
byte made[N], voided;
bool waiting, is_void[N];
byte epoch;

inline announce() { atomic { tick++; if :: working < T -> working++; run worker() :: else fi } }
inline notify() {
#ifndef SILENT
  atomic { if :: waiting -> epoch++ :: else fi }
#else
  skip
#endif
}

/* The last count of a record: publish, or return the slot of a step whose place was taken away. */
inline finish_item(sl) {
  atomic { undone[sl]--; fin = (undone[sl] == 0) };
  if
  :: fin ->
     atomic {
       fs = step_of[sl];
       if
       :: ring_step[fs % W] == fs && ring[fs % W] == NONE -> ring[fs % W] = sl
       :: else ->
          assert(inside[sl] == 0);
#ifndef EARLY_RETURN
          busy[sl] = false;
#endif
          voided--
       fi
     };
     notify()
  :: else
  fi
}
inline finish_parts(sl, n) {
  atomic { count[sl] = count[sl] - n; fin = (count[sl] == 0) };
  if :: fin -> finish_item(sl) :: else fi
}
inline close_bit(p) {
  open[p] = false;
#ifndef NO_HEAL
  hs = place[p];
  if :: word_left[hs] > 0 -> open[p] = true; announce(); notify() :: else fi
#endif
}
/* Claims and runs one open part, oldest place first; got tells whether there was one. */
inline try_part() {
  got = false; i = 0;
  do
  :: got || i == W -> break
  :: else ->
     p = (delivered + i) % W;
     if
     :: open[p] ->
        sl = place[p];
        atomic {
          if
          :: word_left[sl] > 0 -> word_left[sl]--; got = true; last = (word_left[sl] == 0); t = word_t[sl] - 1
          :: else
          fi
        };
        if
        :: got ->
           if :: last -> close_bit(t % W) :: else fi;
           atomic { inside[sl]++; if :: !is_void[t] -> made[t]++ :: else fi };
           inside[sl]--;
           finish_parts(sl, 1)
        :: else -> close_bit(p)
        fi
     :: else -> i++
     fi
  od
}
/* Takes a ticket below the limit and the given end, runs the prefix, opens the parts. */
inline try_item(end) {
  got = false;
  t = next;
  if
  :: t < limit && t < end ->
     sl = place[t % W];
     atomic { if :: next == t -> next++; got = true :: else fi };
     if
     :: got ->
        inside[sl]++; inside[sl]--;                       /* the prefix */
        count[sl] = P;
        atomic {
          if
          :: word_t[sl] == t + 1 -> fin = false           /* void before it was opened */
          :: else -> word_t[sl] = t + 1; word_left[sl] = P; fin = true
          fi
        };
        if
        :: fin -> open[t % W] = true; announce(); notify()
        :: else -> finish_item(sl)
        fi
     :: else -> got = true                                 /* the exchange failed: look again */
     fi
  :: else
  fi
}

proctype worker() {
  byte a, k, i, p, sl, t, fs, hs; bool got, last, fin;
again:
  atomic { a = working; k = tick; i = 0; p = 0; sl = 0; t = 0; fs = 0; hs = 0; got = false; last = false; fin = false };
  try_part(); if :: got -> goto again :: else fi;
  try_item(N); if :: got -> goto again :: else fi;
#ifdef LEAVE_BLIND
  working--
#else
  atomic { if :: working == a && tick == k -> working--; goto done :: else fi }; goto again
#endif
done: skip
}

inline raise() {
  do
  :: limit < N && limit < delivered + W ->
     sl = 0;
     do :: sl < SLOTS && busy[sl] -> sl++ :: else -> break od;
     if :: sl == SLOTS -> break :: else fi;
     assert(inside[sl] == 0);
     busy[sl] = true; step_of[sl] = limit; undone[sl] = 1;
     place[limit % W] = sl;
#ifdef TICK_EARLY
     announce();
#endif
     limit++
  :: else -> break
  od;
#if defined(TICK_EARLY) || defined(NO_ANNOUNCE)
  skip
#else
  announce()
#endif
}

/* The consumer voids everything in flight. */
inline cancel() {
  d_step { i = 0; do :: i < N -> if :: i < limit -> is_void[i] = true :: else fi; i++ :: else -> break od; i = 0 };
  atomic { first = next; next = limit };
  do
  :: delivered == limit -> break
  :: else ->
     p = delivered % W;
     voided++;
     atomic {
       sl = NONE;
       if :: ring[p] != NONE -> sl = ring[p]; ring[p] = NONE :: else fi;
       ring_step[p] = delivered + W
     };
     if
     :: sl != NONE -> voided--; busy[sl] = false          /* complete already */
     :: else ->
        sl = place[p];
#ifdef EARLY_RETURN
        busy[sl] = false;
#endif
        if
        :: delivered >= first -> finish_item(sl)           /* nobody has the ticket */
        :: else ->
           atomic {
             got = false; n = 0;
             if
             :: word_t[sl] == delivered + 1 -> n = word_left[sl]; word_left[sl] = 0
             :: else ->
#ifndef VOID_OPENED
                word_t[sl] = delivered + 1; word_left[sl] = 0
#else
                skip
#endif
             fi
           };
           if :: n > 0 -> close_bit(p); finish_parts(sl, n) :: else fi
        fi
     fi;
     delivered++
  od
}

init {
  byte e, i, p, sl, t, fs, hs, n, first; bool got, last, fin;
  d_step {
    i = 0; do :: i < W -> ring[i] = NONE; ring_step[i] = i; i++ :: else -> break od;
  };
  raise();
  do
  :: delivered == N -> break
  :: else ->
#if CANCEL
     if :: delivered == CANCEL -> cancel(); raise(); if :: delivered == N -> break :: else fi :: else fi;
#endif
     do
     :: delivered < limit && ring[delivered % W] != NONE -> break
     :: else ->
        if
        :: delivered == limit -> raise(); if :: delivered < limit -> goto look :: else fi
        :: else
        fi;
#ifdef HELP
        if :: open[delivered % W] -> try_part(); if :: got -> goto look :: else fi :: else fi;
        try_item(delivered + 1); if :: got -> goto look :: else fi;
#endif
        atomic { waiting = true; e = epoch };
#ifndef NO_RECHECK
        if
        :: delivered < limit && ring[delivered % W] != NONE -> waiting = false; break
#ifdef HELP
        :: delivered < limit && (open[delivered % W] || next < delivered + 1) -> waiting = false; goto look
#endif
        :: delivered == limit && (!busy[0] || !busy[1] || !busy[2]) -> waiting = false; goto look
        :: else
        fi;
#endif
        epoch != e;                                        /* the futex */
        waiting = false;
look:   skip; d_step { i = 0; p = 0; sl = 0; t = 0; fs = 0; hs = 0; got = false; last = false; fin = false; e = 0 }
     od;
     assert(ring_step[delivered % W] == delivered);
     sl = ring[delivered % W];
     assert(step_of[sl] == delivered && inside[sl] == 0 && made[delivered] == P);
     atomic { ring[delivered % W] = NONE; ring_step[delivered % W] = delivered + W };
     assert(next - delivered <= W);
     delivered++;
     busy[sl] = false;
     raise();
     d_step { i = 0; p = 0; sl = 0; t = 0; fs = 0; hs = 0; got = false; last = false; fin = false; e = 0 }
  od;
  voided == 0;                                             /* every cancelled step's slot came back */
  assert(next == N)
}
