/* The engine's protocol: admission, tickets, parts, workers that come and go, a sleeping consumer, cancel, the end.

   N steps of one item each in a window of W; P parts an item; at most T workers. What is one atomic access in the code
   is one step here; sequentially consistent (weaker orders are the business of the ordering tables, the explorer's
   weak-memory mode and the thread sanitizer). N > 2 W, so that every place, slot and word is used in three laps or more.
     CANCEL=n   the consumer cancels after n steps, and goes on
     CLOSE=n    the consumer cancels after n steps, and shuts down
     HELP       the waiting consumer works on its step
     MEET       the parts of an item meet: each ends when all have begun, so P threads are needed at once
   Checked: nobody waits for ever (a lost wakeup and a lost start end so), the window is kept, every part of a delivered
   step is made once, no slot is bound or delivered while a thread is inside, every slot comes back.

   Two simplifications that change no behaviour: a worker's view of the coming-and-going word is one bit, "has it changed
   since I looked" (the tick makes every change a different word); the epoch of the event count likewise.

   Each of these plants one fault, and every one must be found:
     LEAVE_BLIND     a worker leaves without comparing the tick: the lost start
     NO_ANNOUNCE     raising the limit adds no tick
     TICK_EARLY      the tick is added before the limit is raised
     NO_RECHECK      the consumer sleeps without looking again after announcing itself
     SILENT          publication does not notify
     CLOSE_SILENT    the last thread out of a cancelled step does not notify
     OPEN_SILENT     opening parts does not notify the consumer that helps
     OPEN_NO_TICK    opening parts adds no tick
     NO_WINDOW       the limit is raised as far as there are slots
     LIMIT_EARLY     the limit is raised before the place is bound
     TAG_DROPPED     the item's word holds no ticket, only the parts left
     VOID_OPENED     cancel voids only items that are already open
     COUNT_FIRST     a part is counted down before it is run: a record used again before its last count
     EARLY_RETURN    cancel returns the slot without waiting for the threads inside: likewise
     OFF_BY_ONE      the last but one to count down completes the item
     BIT_LATE        the bit is set after the tick and the notification
     NO_HEAL         a late clear of a bit is not repaired                                                           */
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
#define T 1
#endif
#define SLOTS (W + 2)
#define NONE 99

byte next, limit, delivered;             /* tickets; one item a step */
bool here[T], changed[T];                /* the coming-and-going word: who is here; changed since that worker looked */
byte place[W];                           /* step's place -> slot */
bool open[W];                            /* open items */
byte word_t[SLOTS], word_left[SLOTS];    /* the item's word: ticket + 1, parts left */
byte count[SLOTS];                       /* parts not finished */
byte undone[SLOTS];                      /* items not complete */
byte step_of[SLOTS];
bool busy[SLOTS]; byte free = SLOTS;     /* the pool */
byte inside[SLOTS], made[SLOTS];         /* threads in the job's code; parts made */
byte ring[W], ring_step[W];              /* NONE, or the slot that was published; the step the place is for */
byte voided;                             /* cancelled steps that are not counted down */
bool waiting, notified;                  /* the event count */

inline change() {
  changed[0] = true;
#if T > 1
  changed[1] = true
#endif
}
inline announce() {
  d_step {
    change();
    if
    :: !here[0] -> here[0] = true
#if T > 1
    :: here[0] && !here[1] -> here[1] = true
#endif
    :: else
    fi
  }
}
inline notify() { d_step { if :: waiting -> notified = true :: else fi } }
inline give_back(s) { d_step { busy[s] = false; free++ } }

/* The last count of a record: publish, or return the slot of a step whose place was taken away. */
inline finish_item(sl) {
  atomic { undone[sl]--; fin = (undone[sl] == 0) };
  if
  :: fin ->
     atomic {
       fin = (ring_step[step_of[sl] % W] == step_of[sl] && ring[step_of[sl] % W] == NONE);
       if :: fin -> ring[step_of[sl] % W] = sl :: else -> assert(inside[sl] == 0) fi
     };
     if
     :: fin ->
#ifndef SILENT
        notify()
#else
        skip
#endif
     :: else ->
#ifndef EARLY_RETURN
        give_back(sl);
#endif
        voided--;
#ifndef CLOSE_SILENT
        notify()
#endif
     fi
  :: else
  fi
}
inline finish_parts(sl, n) {
#ifndef OFF_BY_ONE
  atomic { count[sl] = count[sl] - n; fin = (count[sl] == 0) };
#else
  atomic { count[sl] = count[sl] - n; fin = (count[sl] == 1) };
#endif
  if :: fin -> finish_item(sl) :: else fi
}
inline show_open(p) {
#ifndef BIT_LATE
  open[p] = true;
#endif
#ifndef OPEN_NO_TICK
  announce();
#endif
#ifndef OPEN_SILENT
  notify();
#endif
#ifdef BIT_LATE
  open[p] = true
#else
  skip
#endif
}
inline close_bit(p) {
  open[p] = false;
#ifndef NO_HEAL
  hs = place[p];
  if :: word_left[hs] > 0 -> show_open(p) :: else fi;
  hs = 0
#endif
}
/* Claims and runs one open part, oldest place first; got tells whether there was one. (A claim here compares only the
   parts left: that the word in the code also compares the ticket is more than a claim needs.) */
inline try_part() {
  got = false; i = 0; t = delivered;                            /* where the search begins: read once */
  do
  :: got || i == W -> break
  :: else ->
     p = (t + i) % W;
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
#ifdef COUNT_FIRST
           finish_parts(sl, 1);
#endif
           d_step { inside[sl]++; made[sl]++; assert(step_of[sl] == t && made[sl] <= P) };
#ifdef MEET
           made[sl] == P;
#endif
           inside[sl]--;
#ifndef COUNT_FIRST
           finish_parts(sl, 1)
#endif
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
     atomic { if :: next == t -> next++; got = true; assert(t < delivered + W) :: else fi };
     if
     :: got ->
        d_step { inside[sl]++; assert(step_of[sl] == t) };     /* the prefix */
        atomic { inside[sl]--; count[sl] = P };
        atomic {
#ifndef TAG_DROPPED
          fin = (word_t[sl] != t + 1);                          /* else void before it was opened */
#else
          fin = true;
#endif
          if :: fin -> word_t[sl] = t + 1; word_left[sl] = P :: else fi
        };
        if
        :: fin -> show_open(t % W)
        :: else -> finish_item(sl)
        fi
     :: else -> got = true                                      /* the exchange failed: look again */
     fi
  :: else
  fi
}

inline forget() { i = 0; p = 0; sl = 0; t = 0; hs = 0; got = false; last = false; fin = false }

proctype worker(byte me) {
  byte i, p, sl, t, hs; bool got, last, fin;
end_away:
  here[me];
again:
  atomic { changed[me] = false; forget() };
  try_part(); if :: got -> goto again :: else fi;
  try_item(N); if :: got -> goto again :: else fi;
#ifdef LEAVE_BLIND
  d_step { here[me] = false; change(); forget() }; goto end_away
#else
  d_step { fin = !changed[me]; if :: fin -> here[me] = false; change() :: else fi };
  if :: fin -> fin = false; goto end_away :: else -> goto again fi
#endif
}

inline raise() {
  got = false;
  do
#ifndef NO_WINDOW
  :: limit < N && limit < delivered + W && free > 0 ->
#else
  :: limit < N && free > 0 ->
#endif
#ifdef LIMIT_EARLY
     limit++;
#endif
     d_step {
       sl = 0;
       do :: busy[sl] -> sl++ :: else -> break od;
       assert(inside[sl] == 0);
       busy[sl] = true; free--;
       t = limit;
#ifdef LIMIT_EARLY
       t = limit - 1;
#endif
       step_of[sl] = t; undone[sl] = 1; made[sl] = 0
     };
     place[t % W] = sl;
#ifdef TICK_EARLY
     announce();
#endif
#ifndef LIMIT_EARLY
     limit++;
#endif
     got = true
  :: else -> break
  od;
  if
#if !defined(TICK_EARLY) && !defined(NO_ANNOUNCE)
  :: got -> announce()
#endif
  :: else
  fi;
  forget()
}

/* The consumer voids everything in flight. */
inline cancel() {
  atomic { first = next; next = limit };
  do
  :: delivered == limit -> break
  :: else ->
     p = delivered % W;
     voided++;
     atomic {
       sl = ring[p]; ring[p] = NONE;
       ring_step[p] = delivered + W
     };
     if
     :: sl != NONE -> voided--; give_back(sl)                   /* complete already */
     :: else ->
        sl = place[p];
#ifdef EARLY_RETURN
        give_back(sl);
#endif
        if
        :: delivered >= first -> finish_item(sl)                /* nobody has the ticket */
        :: else ->
           atomic {
             n = 0;
             if
#ifdef TAG_DROPPED
             :: true -> n = word_left[sl]; word_left[sl] = 0
#else
             :: word_t[sl] == delivered + 1 -> n = word_left[sl]; word_left[sl] = 0
#endif
#if !defined(VOID_OPENED) && !defined(TAG_DROPPED)
             :: else -> word_t[sl] = delivered + 1; word_left[sl] = 0
#elif defined(VOID_OPENED)
             :: else
#endif
             fi
           };
           if :: n > 0 -> close_bit(p); finish_parts(sl, n) :: else fi
        fi
     fi;
     delivered++
  od;
  forget(); first = 0; n = 0
}

/* Announce, look again, sleep. */
#ifndef NO_RECHECK
#define sleep_unless(ready) d_step { waiting = true; notified = false }; if :: ready :: else -> notified fi; waiting = false
#else
#define sleep_unless(ready) d_step { waiting = true; notified = false }; notified; waiting = false
#endif

#define is_ready (delivered < limit && ring[delivered % W] != NONE)
#define claimable (open[delivered % W] || next < delivered + 1)

init {
  byte i, p, sl, t, hs, n, first; bool got, last, fin;
  d_step {
    i = 0; do :: i < W -> ring[i] = NONE; ring_step[i] = i; i++ :: else -> break od; i = 0
  };
  atomic {
    run worker(0);
#if T > 1
    run worker(1);
#endif
  };
  raise();
  do
  :: delivered == N -> break
#ifdef CLOSE
  :: delivered == CLOSE -> break
#endif
  :: else ->
#ifdef CANCEL
     if :: delivered == CANCEL -> cancel(); raise() :: else fi;
     if :: delivered == N -> break :: else fi;
#endif
     do
     :: is_ready -> break
     :: else ->
        if
        :: delivered == limit ->                                /* no slot: wait for one */
           raise();
           if :: delivered == limit -> sleep_unless(free > 0) :: else fi
        :: else ->
#ifdef HELP
           if :: open[delivered % W] -> try_part(); if :: got -> goto look :: else fi :: else fi;
           try_item(delivered + 1); if :: got -> goto look :: else fi;
           sleep_unless(is_ready || claimable)
#else
           sleep_unless(is_ready)
#endif
        fi;
look:   atomic { forget() }
     od;
     assert(ring_step[delivered % W] == delivered);
     sl = ring[delivered % W];
     assert(step_of[sl] == delivered && inside[sl] == 0 && made[sl] == P);
     d_step { ring[delivered % W] = NONE; ring_step[delivered % W] = delivered + W };
     delivered++;
     give_back(sl);
     forget();
     raise()
  od;
#ifdef CLOSE
  cancel();
#endif
  do
  :: voided == 0 -> break                                       /* nobody is inside a cancelled step */
  :: else -> sleep_unless(voided == 0)
  od;
  assert(free == SLOTS && next == limit)
}
