"""Feeds to devices, and push notifications to users who are offline.

- `devices`: a device connects: where each of its feeds continues
- `follow`: reads feeds as they grow, once for all followers
- `notify`: sends push notifications
"""
