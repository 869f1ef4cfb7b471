#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the rows of memory_access_3 as input for `accesses FILE.in FIRST_ID`: red.in, atom.in, shld.in, shmin.in."""
import random
random.seed(20261122)
def w(f,op,mask,o): f.write(op+' %08x '%mask+' '.join(map(str,o))+'\n')
F=0xffffffff
red=open('red.in','w'); atom=open('atom.in','w')
n=0
# every pair of lanes that share a sector; each other lane has a line of its own, in order
for a in range(32):
    for b in range(a+1,32):
        o=[128*i for i in range(32)]
        o[b]=o[a]+8
        w(red,'GLOBAL_RED_ADD_U64',F,o)
for a in range(0,32):
    for b in range(a+1,32):
        if (a*7+b*3)%3==0:
            o=[128*i for i in range(32)]; o[b]=o[a]+4
            w(red,'GLOBAL_RED_ADD_U32',F,o)
            o=[64*i for i in range(32)]; o[b]=o[a]+8
            w(red,'GLOBAL_RED_ADD_U64',F,o)
            o=[128*i for i in range(32)]; o[b]=o[a]+8
            w(atom,'GLOBAL_ADD_U64',F,o)
            o=[128*i for i in range(32)]; o[b]=o[a]+4
            w(atom,'GLOBAL_ADD_U32',F,o)
# lines only, no sharing: which lines go together
for n in range(60):
    p=random.sample(range(64),32); w(red,'GLOBAL_RED_ADD_U64',F,[128*x for x in p])
for k in (1,2,3,4,5,8,16,32):
    w(red,'GLOBAL_RED_ADD_U64',F,[128*k*i for i in range(32)])
    w(red,'GLOBAL_RED_ADD_U32',F,[128*k*i for i in range(32)])
    for m in (0xf,0x1f,0xff,0xffff,0x10101,0x11111111,0x55555555,0x80000001):
        w(red,'GLOBAL_RED_ADD_U64',m,[128*k*i for i in range(32)])
for n in range(40):
    p=random.sample(range(64),32); w(red,'GLOBAL_RED_ADD_U32',F,[128*x for x in p])
    p=random.sample(range(64),32); w(atom,'GLOBAL_ADD_U64',F,[128*x for x in p])
# one repeated: the same row eight times
for n in range(3):
    p=random.sample(range(64),32); o=[128*x for x in p]; o[random.randrange(16,32)]=o[random.randrange(16)]+8
    for _ in range(6): w(red,'GLOBAL_RED_ADD_U64',F,o)
def mask():
    return random.choice([F,F,F,0x55555555,0x0f0f0f0f,random.getrandbits(32)|1,F>>random.randrange(32)])
def rnd(width,rng):
    kind=random.randrange(6)
    pool=[random.randrange(rng) for _ in range(32)]
    if kind<3: o=[random.randrange(rng) for _ in range(32)]
    elif kind==3:
        few=random.randrange(2,24); o=[pool[random.randrange(few)] for _ in range(32)]
    elif kind==4: o=[pool[i>>1] for i in range(32)]; o[random.randrange(32)]=random.randrange(rng)
    else:
        s=random.randrange(1,rng//32+1); st=random.randrange(rng); o=[(st+i*s)%rng for i in range(32)]; random.shuffle(o)
    return [x*width for x in o]
for op,width in (('GLOBAL_RED_ADD_U64',8),('GLOBAL_RED_ADD_U32',4),('GLOBAL_RED_ADD_F32',4),('GLOBAL_RED_ADD_F64',8),('GLOBAL_RED_MAX_U64',8)):
    for r in (64,256,1024):
        for n in range(50 if op=='GLOBAL_RED_ADD_U64' else 20): w(red,op,mask(),rnd(width,r))
for op,width in (('GLOBAL_ADD_U64',8),('GLOBAL_ADD_U32',4),('GLOBAL_EXCH_B32',4),('GLOBAL_CAS_B64',8)):
    for r in (64,256,1024):
        for n in range(20): w(atom,op,mask(),rnd(width,r))
sl=open('shld.in','w')
def some():
    return random.choice([0x55555555,0x33333333,0xaaaaaaaa,F>>random.randrange(1,32),random.getrandbits(32)|1,F^(1<<random.randrange(32)),random.getrandbits(16)*0x10001,0x0f0f0f0f,0xff00ff00])
for n in range(400):
    rng=random.choice([8,16,32,64])
    k=random.randrange(5)
    pool=[random.randrange(rng) for _ in range(32)]
    o={0:lambda:[pool[i>>1] for i in range(32)],1:lambda:[pool[i&~2] for i in range(32)],2:lambda:[random.choice([pool[i>>1],pool[i&~2]]) for i in range(32)],3:lambda:[pool[i>>1] if i<16 else pool[i&~2] for i in range(32)],4:lambda:[pool[i] for i in range(32)]}[k]()
    w(sl,'SHARED_LD16',some() or 1,[16*x for x in o])
sa=open('shmin.in','w')
for n in range(80):
    rng=random.choice([1,2,4,16,64]); pool=[random.randrange(rng) for _ in range(32)]
    w(sa,'SHARED_MIN_S64',random.choice([F,F,random.getrandbits(32)|1]),[8*x for x in pool])
